#include "pipeline/flow_loss.h"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/pipeline/flow/numeric_gradient.h"

namespace millrace::pipeline {
namespace {

constexpr int kHeight = 12;
constexpr int kWidth = 16;
constexpr double kAtRest = 1e-3;  // What a pixel costs that is explained without error.

at::Tensor ConstantFlow(double dx, double dy) {
  return at::stack({at::full({kHeight, kWidth}, dx, at::kDouble),
                    at::full({kHeight, kWidth}, dy, at::kDouble)})
      .unsqueeze(0);
}

at::Tensor RandomPictures() { return at::rand({2, 1, kHeight, kWidth}, at::kDouble); }

TEST(FlowLossTest, TrueTranslationExplainsEveryPixelThatStaysInThePicture) {
  // Things move two pixels to the right and one up.
  const at::Tensor wide = at::rand({1, 1, kHeight + 1, kWidth + 2}, at::kDouble);
  const at::Tensor previous = wide.narrow(2, 0, kHeight).narrow(3, 2, kWidth);
  const at::Tensor current = wide.narrow(2, 1, kHeight).narrow(3, 0, kWidth);
  const at::Tensor pictures = at::cat({previous, current}, 0);
  const FlowLoss loss = ComputeFlowLoss(pictures, ConstantFlow(2, -1), 0);

  // The rest, the right two columns and the top row, cost what no motion costs there.
  const at::Tensor at_rest = ((previous - current).square() + 1e-6).sqrt();
  at::Tensor expected = at_rest.clone();
  expected.narrow(2, 1, kHeight - 1).narrow(3, 0, kWidth - 2).fill_(kAtRest);
  EXPECT_NEAR(loss.photometric.item<double>(), expected.mean().item<double>(), 1e-9);
  EXPECT_NEAR(loss.no_motion.item<double>(), at_rest.mean().item<double>(), 1e-9);
}

TEST(FlowLossTest, NoMotionCostsOneOfItself) {
  const FlowLoss loss = ComputeFlowLoss(RandomPictures(), ConstantFlow(0, 0), 0);
  EXPECT_NEAR(loss.objective.item<double>(), 1, 1e-9);
  EXPECT_NEAR(loss.photometric.item<double>(), loss.no_motion.item<double>(), 1e-9);
}

TEST(FlowLossTest, BrightnessRangeOfThePicturesDoesNotChangeTheObjective) {
  const at::Tensor pictures = RandomPictures();
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth}, at::kDouble);
  const double bright = ComputeFlowLoss(pictures, flow, 0).objective.item<double>();
  const double dark = ComputeFlowLoss(pictures * 0.1, flow, 0).objective.item<double>();
  EXPECT_NEAR(dark, bright, 0.01 * bright);
}

TEST(FlowLossTest, GradientEqualsFiniteDifferences) {
  const at::Tensor pictures = RandomPictures();
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth}, at::kDouble);
  const auto objective = [&](const at::Tensor& x) {
    return ComputeFlowLoss(pictures, x, 0.1).objective;
  };
  EXPECT_TRUE(at::allclose(AutogradGradient(objective, flow), NumericGradient(objective, flow),
                           1e-4, 1e-6));
}

TEST(FlowLossTest, PixelThatPointsOutsideHasNoPhotometricGradient) {
  at::Tensor flow = ConstantFlow(0.3, 0.3);
  flow.select(1, 0).select(2, kWidth - 1).fill_(0.5);  // The last column points out.
  const at::Tensor pictures = RandomPictures();
  const at::Tensor gradient = AutogradGradient(
      [&](const at::Tensor& x) { return ComputeFlowLoss(pictures, x, 0).objective; }, flow);
  EXPECT_EQ(gradient.select(3, kWidth - 1).abs().max().item<double>(), 0);
  EXPECT_GT(gradient.select(3, 0).abs().max().item<double>(), 0);
}

TEST(FlowLossTest, FlowFarOutsideIsFiniteAndWinsNothing) {
  const at::Tensor pictures = RandomPictures();
  for (const double far : {1e3, -1e6, 1e30}) {
    const at::Tensor flow = ConstantFlow(far, -far);
    const FlowLoss loss = ComputeFlowLoss(pictures, flow, 0.1);
    EXPECT_NEAR(loss.photometric.item<double>(), loss.no_motion.item<double>(), 1e-9);
    EXPECT_TRUE(loss.objective.isfinite().item<bool>());
    const at::Tensor gradient = AutogradGradient(
        [&](const at::Tensor& x) { return ComputeFlowLoss(pictures, x, 0.1).objective; }, flow);
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

TEST(FlowLossTest, EqualPicturesHaveAFiniteLossThatIsLeastWithoutMotion) {
  const at::Tensor picture = at::rand({1, 1, kHeight, kWidth}, at::kDouble);
  const at::Tensor pictures = at::cat({picture, picture}, 0);
  const FlowLoss still = ComputeFlowLoss(pictures, ConstantFlow(0, 0), 0);
  EXPECT_NEAR(still.no_motion.item<double>(), kAtRest, 1e-12);
  EXPECT_NEAR(still.objective.item<double>(), 1, 1e-6);
  EXPECT_GT(ComputeFlowLoss(pictures, ConstantFlow(1, 0), 0).objective.item<double>(), 10);
}

TEST(FlowLossTest, FlowThatIsNotFiniteMakesAnObjectiveThatIsNot) {
  at::Tensor flow = ConstantFlow(0, 0);
  flow.select(1, 0).select(1, 5).fill_(std::numeric_limits<double>::quiet_NaN());
  const FlowLoss loss = ComputeFlowLoss(RandomPictures(), flow, 0.1);
  EXPECT_FALSE(loss.objective.isfinite().item<bool>());
}

TEST(FlowLossTest, StepOfTheFlowCostsLessAtAnEdgeOfThePicture) {
  at::Tensor edge = at::zeros({2, 1, kHeight, kWidth}, at::kDouble);
  edge.narrow(3, kWidth / 2, kWidth / 2).fill_(1);
  const at::Tensor flat = at::zeros({2, 1, kHeight, kWidth}, at::kDouble);
  at::Tensor flow = ConstantFlow(0, 0);
  flow.select(1, 1).narrow(2, kWidth / 2, kWidth / 2).fill_(0.5);  // Along the edge.
  const auto roughness = [&](const at::Tensor& pictures) {
    return (ComputeFlowLoss(pictures, flow, 1).objective -
            ComputeFlowLoss(pictures, flow, 0).objective)
        .item<double>();
  };
  EXPECT_GT(roughness(flat), 5 * roughness(edge));
}

}  // namespace
}  // namespace millrace::pipeline
