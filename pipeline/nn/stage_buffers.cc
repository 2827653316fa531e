#include "pipeline/nn/stage_buffers.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/clone.h>
#include <ATen/ops/where.h>

#include "base/check.h"
#include "pipeline/ops/finite.h"

namespace millrace::pipeline {

void TensorValues::Take(const std::vector<at::Tensor>& tensors) {
  values_.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor from = tensors[i].detach();
    if (values_[i].defined() && values_[i].sizes() == from.sizes()) {
      values_[i].copy_(from);
    } else {
      values_[i] = from.clone();
    }
  }
}

void TensorValues::PutInto(const std::vector<at::Tensor>& tensors) const {
  MILLRACE_CHECK(tensors.size() == values_.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].variable_data().copy_(values_[i]);
}

void TensorValues::PutIntoUnless(const at::Tensor& flag,
                                 const std::vector<at::Tensor>& tensors) const {
  MILLRACE_CHECK(tensors.size() == values_.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor now = tensors[i].variable_data();
    now.copy_(at::where(flag, now, values_[i]));
  }
}

StageBuffers::StageBuffers(const Stage& stage, bool by_pattern)
    : stage_(stage), any_(!stage.buffers().empty()), by_pattern_(by_pattern) {}

Tensors StageBuffers::First(Forward forward) {
  if (!any_) return forward();
  if (by_pattern_) return Gather(forward);
  Tensors outputs;
  Move([&] { outputs = forward(); });
  return outputs;
}

Tensors StageBuffers::Gather(Forward forward) {
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
  Move([&] {
    to_commit_.PutInto(buffers());
    statistics_.Commit();
  });
}

void StageBuffers::Move(absl::FunctionRef<void()> by) {
  const std::vector<at::Tensor> found = buffers();
  before_.Take(found);
  by();
  const std::vector<at::Tensor> moved = buffers();
  replaced_ = replaced_ || !std::ranges::equal(found, moved, [](const auto& a, const auto& b) {
                return a.is_alias_of(b);
              });
  if (!moved.front().device().is_cpu()) {
    before_.PutIntoUnless(FiniteFlag(moved), moved);
  } else if (!AllFinite(moved)) {
    before_.PutInto(moved);
  }
}

}  // namespace millrace::pipeline
