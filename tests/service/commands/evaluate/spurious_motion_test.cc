// The motion that a real learner sees in an empty scene with noise, and in a scene with motion.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/learner.h"
#include "service/frames/learning_window.h"
#include "service/frames/motion_evidence.h"
#include "service/frames/windows.h"

namespace millrace::service {
namespace {

constexpr int kWidth = 160;
constexpr int kHeight = 128;
constexpr int kPairs = 60;
// So the window holds the last 40 pairs: in the first dozen there is nothing to see yet.
constexpr int kRepeats = kLossWindow / 40;

using Bytes = std::vector<std::uint8_t>;

/// A texture of waves, under the noise of a camera at dusk; as far right as `moved` says.
Bytes Scene(double moved, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, 4);
  Bytes rgb;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const double at = x - moved;
      const double grey =
          120 + 35 * (std::sin(at * 0.31 + y * 0.07) + std::sin(at * 0.13 - y * 0.23));
      rgb.insert(rgb.end(), 3,
                 static_cast<std::uint8_t>(std::clamp(grey + noise(generator), 0.0, 255.0)));
    }
  }
  return rgb;
}

/// What is said of a learner from the weights that come with the program, before a scene that moves
/// `speed` pixels a frame.
RecentLearning LearnedFrom(double speed) {
  std::vector<Bytes> pictures;
  for (int i = 0; i <= kPairs; ++i) pictures.push_back(Scene(i * speed, i));
  std::mutex mu;
  LearningWindow window;
  const auto record = [&](pipeline::ModelPrediction model) {
    const std::lock_guard lock(mu);
    Prediction prediction;
    const auto pair = static_cast<std::size_t>(model.sample);
    prediction.spurious_motion = EvidenceOf({.flow = *model.flow,
                                             .base = pictures[pair],
                                             .target = pictures[pair + 1],
                                             .width = kWidth,
                                             .height = kHeight})
                                     .IsSpurious();
    prediction.model = std::move(model);
    // The window says nothing before it is full.
    for (int i = 0; i < kRepeats; ++i) window.Record(prediction);
  };
  auto learner = pipeline::MakeFlowLearner(
      {.width = kWidth,
       .height = kHeight,
       .schedule = "sequential",
       .stages = 1,
       .weights = MILLRACE_START},
      {.loss = {.smoothness = pipeline::UsualSmoothness("refine")}}, record);
  EXPECT_TRUE(learner.ok()) << learner.status();
  if (!learner.ok()) return {};
  for (int i = 0; i < kPairs; ++i) {
    EXPECT_TRUE((*learner)->Admit({.previous = pictures[i], .current = pictures[i + 1]}).ok());
  }
  EXPECT_TRUE((*learner)->Drain().ok());
  const std::lock_guard lock(mu);
  return window.Recent();
}

// Its loss is below the loss of no motion: without the test of the reversed flow it would be green.
TEST(SpuriousMotionTest, ALearnerOverAnEmptySceneAveragesNoiseAway) {
  const RecentLearning recent = LearnedFrom(0);
  EXPECT_EQ(recent.predictions, kLossWindow);
  EXPECT_GT(recent.explained().value_or(-1), 0.02);
  EXPECT_GT(recent.spurious_share, 0.75);
  EXPECT_TRUE(recent.sees_spurious_motion());
}

TEST(SpuriousMotionTest, ALearnerSeesWhatMovesUnderTheSameNoise) {
  const RecentLearning recent = LearnedFrom(1.5);
  EXPECT_GT(recent.explained().value_or(-1), 0.2);
  EXPECT_LT(recent.spurious_share, 0.1);
}

}  // namespace
}  // namespace millrace::service
