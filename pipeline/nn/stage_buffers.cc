#include "pipeline/nn/stage_buffers.h"

#include <algorithm>
#include <utility>

#include "pipeline/ops/finite.h"

namespace millrace::pipeline {

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
  const TensorSnapshot found(before);
  Tensors outputs;
  {
    const BatchStatistics::Gathering gathering(statistics_, before);
    outputs = forward();
  }
  to_commit_ = TensorSnapshot(buffers());
  moved_ = true;
  found.Restore(buffers());
  return outputs;
}

void StageBuffers::Commit() {
  if (!std::exchange(moved_, false)) return;
  Move([&] {
    to_commit_.Restore(buffers());
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
    before_.RestoreUnless(FiniteFlag(moved), moved);
  } else if (!AllFinite(moved)) {
    before_.Restore(moved);
  }
}

}  // namespace millrace::pipeline
