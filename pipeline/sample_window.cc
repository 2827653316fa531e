#include "pipeline/sample_window.h"

#include <ATen/ops/clone.h>
#include <ATen/ops/expand.h>

namespace millrace::pipeline {

at::Tensor SampleWindow::Add(const at::Tensor& sample) {
  if (next_ == 0) {
    std::vector<std::int64_t> sizes = sample.sizes().vec();
    sizes.insert(sizes.begin(), rows_);
    batch_ = sample.unsqueeze(0).expand(sizes).contiguous();
  } else {
    batch_ = batch_.clone();  // Those in flight keep theirs.
    batch_.select(0, next_ % rows_).copy_(sample);
  }
  ++next_;
  return batch_;
}

}  // namespace millrace::pipeline
