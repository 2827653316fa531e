#include "pipeline/stages/stage_work.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/small_chain.h"

namespace millrace::pipeline {
namespace {

// The input's gradient; with `left`, where a failed capture had already made one.
at::Tensor GradientAfter(bool left) {
  const LayerChain chain = SmallChain(/*with_skip=*/false);
  const Stage whole = WholeChain(chain);
  StageWork work({.stage = whole});
  Activations activations{.inputs = {SmallInputs(1)[0].clone().requires_grad_(true)}};
  work.Forward(activations, /*sample=*/0);
  at::Tensor& input = activations.inputs[0];
  if (left) input.mutable_grad() = at::ones_like(input);
  return work.Backward(activations, {at::ones_like(activations.outputs[0])}, false)[0];
}

TEST(StageWorkTest, ABackwardThatFailedHalfwayLeavesNoGradient) {
  EXPECT_TRUE(at::equal(GradientAfter(/*left=*/true), GradientAfter(/*left=*/false)));
}

}  // namespace
}  // namespace millrace::pipeline
