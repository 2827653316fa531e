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

StageBuffers::FirstForward::FirstForward(StageBuffers& buffers) : buffers_(buffers) {
  if (!buffers.any_) return;
  if (!buffers.by_pattern_) {
    buffers.BeginUpdate();
    return;
  }
  found_ = buffers.buffers();
  values_.Take(found_);
  gathering_.emplace(buffers.statistics_, found_);
}

void StageBuffers::FirstForward::Finish() {
  if (!buffers_.any_) return;
  if (!buffers_.by_pattern_) {
    buffers_.EndUpdate();
    return;
  }
  gathering_.reset();
  buffers_.to_commit_ = TensorValues(buffers_.buffers());
  buffers_.moved_ = true;
  values_.PutInto(buffers_.buffers());
}

void StageBuffers::Commit() {
  if (!std::exchange(moved_, false)) return;
  BeginUpdate();
  to_commit_.PutInto(buffers());
  statistics_.Commit();
  EndUpdate();
}

void StageBuffers::BeginUpdate() {
  found_ = buffers();
  before_.Take(found_);
}

void StageBuffers::EndUpdate() {
  const std::vector<at::Tensor> moved = buffers();
  replaced_ = replaced_ || !std::ranges::equal(found_, moved, [](const auto& a, const auto& b) {
                return a.is_alias_of(b);
              });
  if (!moved.front().device().is_cpu()) {
    before_.PutIntoUnless(FiniteFlag(moved), moved);
  } else if (!AllFinite(moved)) {
    before_.PutInto(moved);
  }
}

}  // namespace millrace::pipeline
