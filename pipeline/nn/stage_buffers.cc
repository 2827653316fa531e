#include "pipeline/nn/stage_buffers.h"

#include <algorithm>
#include <utility>

#include "pipeline/ops/finite.h"

namespace millrace::pipeline {

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
  buffers_.to_commit_ = TensorSnapshot(buffers_.buffers());
  buffers_.moved_ = true;
  values_.Restore(buffers_.buffers());
}

void StageBuffers::Commit() {
  if (!std::exchange(moved_, false)) return;
  BeginUpdate();
  to_commit_.Restore(buffers());
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
    before_.RestoreUnless(FiniteFlag(moved), moved);
  } else if (!AllFinite(moved)) {
    before_.Restore(moved);
  }
}

}  // namespace millrace::pipeline
