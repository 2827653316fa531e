// The evaluation's losses of a flow equal the learners' losses.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "pipeline/evaluation/pictures.h"
#include "pipeline/flow/flow_loss.h"
#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 24;
constexpr int kHeight = 16;

TEST(PictureLossesTest, LossesAreThoseThatLearnersAreScoredBy) {
  std::mt19937 random(1);
  for (const float spread : {0.0F, 0.4F, 3.0F, 40.0F}) {
    const std::vector<std::uint8_t> previous = RandomBytes(kWidth, kHeight, random);
    const std::vector<std::uint8_t> current = RandomBytes(kWidth, kHeight, random);
    const std::vector<float> flow = RandomFlow(kWidth, kHeight, spread, random);
    at::Tensor pictures = torch::empty({2, 1, kHeight, kWidth});
    float* grey = pictures.data_ptr<float>();
    for (const auto& picture : {previous, current}) {
      for (const float level : GreyOf(picture)) *grey++ = level;
    }
    const at::Tensor of_learner =
        torch::tensor(flow).view({1, kHeight, kWidth, 2}).permute({0, 3, 1, 2}).contiguous();
    const FlowLoss loss = ComputeFlowLoss(pictures, of_learner, {});
    const PairOfPictures pair(previous, current, kWidth, kHeight);
    EXPECT_NEAR(pair.Loss(flow), loss.photometric.item<double>(), 2e-5) << spread;
    EXPECT_NEAR(pair.LossOfNoMotion(), loss.no_motion.item<double>(), 2e-6) << spread;
  }
}

}  // namespace
}  // namespace millrace::pipeline
