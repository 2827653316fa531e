#include "pipeline/flow/next_frame.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include "pipeline/models/named_flow_network.h"
#include "pipeline/nn/stage.h"

namespace millrace::pipeline {
namespace {

constexpr int kHeight = 12;
constexpr int kWidth = 20;

// Things move by (dx, dy) from each picture to the next.
at::Tensor Moving(int dx, int dy) {
  const at::Tensor wide = at::rand({1, 1, kHeight + 8, kWidth + 8});
  std::vector<at::Tensor> pictures;
  for (int i = 0; i < 3; ++i) {
    pictures.push_back(wide.narrow(2, 4 - i * dy, kHeight).narrow(3, 4 - i * dx, kWidth));
  }
  return at::cat(pictures, 0);
}

at::Tensor Flows(const std::vector<std::array<double, 2>>& flows) {
  std::vector<at::Tensor> all;
  for (const auto& [dx, dy] : flows) {
    all.push_back(at::stack({at::full({kHeight, kWidth}, dx), at::full({kHeight, kWidth}, dy)}));
  }
  return at::stack(all);
}

TEST(NextFrameTest, MotionThatGoesOnIsForetoldByTheFirstFlowAlone) {
  const at::Tensor pictures = Moving(2, -1);
  const FlowLoss right =
      ComputeNextFrameLoss(pictures, Flows({{2, -1}, {0, 0}}), {.smoothness = 0});
  const FlowLoss other =
      ComputeNextFrameLoss(pictures, Flows({{2, -1}, {-3, 1}}), {.smoothness = 0});
  const FlowLoss wrong =
      ComputeNextFrameLoss(pictures, Flows({{-2, 1}, {2, -1}}), {.smoothness = 0});
  // All but the border, which it cannot predict.
  EXPECT_LT(right.photometric.item<double>(), 0.3 * right.no_motion.item<double>());
  EXPECT_EQ(other.photometric.item<double>(), right.photometric.item<double>());
  EXPECT_GT(wrong.photometric.item<double>(), 0.8 * right.no_motion.item<double>());
}

TEST(NextFrameTest, NoMotionIsTheNewestPictureAgain) {
  const at::Tensor pictures = at::rand({3, 1, kHeight, kWidth});
  const FlowLoss loss = ComputeNextFrameLoss(pictures, Flows({{0, 0}, {1, 1}}), {});
  const double expected =
      ((pictures[2] - pictures[1]).square() + 1e-6).sqrt().mean().item<double>();
  EXPECT_NEAR(loss.no_motion.item<double>(), expected, 1e-5);
  EXPECT_NEAR(loss.photometric.item<double>(), expected, 1e-5);
}

// What the newest picture says of the coming one has no judge yet.
TEST(NextFrameTest, OnlyTheFirstFlowIsLearnedFrom) {
  const at::Tensor pictures = at::rand({3, 1, kHeight, kWidth});
  const at::Tensor flow = Flows({{0.4, 0.3}, {0.4, 0.3}}).requires_grad_(true);
  ComputeNextFrameLoss(pictures, flow, {}).objective.backward();
  EXPECT_GT(flow.grad()[0].abs().max().item<float>(), 0);
  EXPECT_EQ(flow.grad()[1].abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace millrace::pipeline
