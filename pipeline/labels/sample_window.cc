#include "pipeline/labels/sample_window.h"

#include <ATen/ops/clone.h>
#include <ATen/ops/expand.h>

namespace millrace::pipeline {

at::Tensor SampleWindow::Add(const at::Tensor& sample) {
  if (!batch_.defined()) {
    std::vector<std::int64_t> sizes = sample.sizes().vec();
    sizes.insert(sizes.begin(), rows_);
    // A copy even for a single row, because the sample is only borrowed.
    batch_ = sample.unsqueeze(0).expand(sizes).clone(at::MemoryFormat::Contiguous);
  } else {
    batch_ = batch_.clone();  // Batches in flight keep theirs.
    batch_.select(0, next_ % rows_).copy_(sample);
  }
  ++next_;
  return batch_;
}

}  // namespace millrace::pipeline
