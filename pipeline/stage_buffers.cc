#include "pipeline/stage_buffers.h"

#include <utility>

#include <ATen/ops/clone.h>

#include "base/check.h"

namespace millrace::pipeline {

TensorValues::TensorValues(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) values_.push_back(tensor.detach().clone());
}

void TensorValues::PutInto(const std::vector<at::Tensor>& tensors) const {
  MILLRACE_CHECK(tensors.size() == values_.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].variable_data().copy_(values_[i]);
}

StageBuffers::StageBuffers(const Stage& stage, bool by_pattern)
    : stage_(stage), any_(!stage.buffers().empty()), by_pattern_(by_pattern) {}

Tensors StageBuffers::First(Forward forward) {
  if (!any_ || !by_pattern_) return forward();
  const std::vector<at::Tensor> before = buffers();
  const TensorValues found(before);
  Tensors outputs;
  {
    const BatchStatistics::Gathering gathering(statistics_, before);
    outputs = forward();
  }
  to_commit_ = TensorValues(buffers());
  moved_ = true;
  found.PutInto(buffers());
  return outputs;
}

void StageBuffers::Commit() {
  if (!std::exchange(moved_, false)) return;
  to_commit_.PutInto(buffers());
  statistics_.Commit();
}

}  // namespace millrace::pipeline
