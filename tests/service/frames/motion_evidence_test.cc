#include "service/frames/motion_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "service/frames/learning_window.h"

namespace millrace::service {
namespace {

constexpr int kWidth = 160;
constexpr int kHeight = 120;

using Picture = std::vector<std::uint8_t>;
using Flow = std::vector<float>;

/// Smooth texture, as far right as `moved` says, with noise of that deviation: a camera's picture.
Picture Scene(double moved, double noise, unsigned seed, double contrast = 40) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, 1);
  Picture rgb;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const double at = x - moved;
      const double texture = std::sin(at * 0.31 + y * 0.05) + std::sin(at * 0.11 - y * 0.23);
      const double grey = 120 + contrast * texture + noise * normal(generator);
      rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(std::clamp(grey, 0.0, 255.0)));
    }
  }
  return rgb;
}

Flow Everywhere(float dx, float dy) {
  Flow flow;
  for (int i = 0; i < kWidth * kHeight; ++i) flow.insert(flow.end(), {dx, dy});
  return flow;
}

MotionEvidence Evidence(const Flow& flow, const Picture& base, const Picture& target,
                        bool backward = false) {
  return EvidenceOf({.flow = flow,
                     .base = base,
                     .target = target,
                     .width = kWidth,
                     .height = kHeight,
                     .backward = backward});
}

TEST(MotionEvidenceTest, AFlowThatIsThereIsShownWhateverTheNoise) {
  for (const double noise : {0.0, 2.0, 6.0}) {
    for (const float moved : {0.3F, 1.0F, 2.5F}) {
      const MotionEvidence evidence =
          Evidence(Everywhere(moved, 0), Scene(0, noise, 1), Scene(moved, noise, 2));
      EXPECT_NEAR(evidence.motion, moved, 1e-4);
      EXPECT_FALSE(evidence.IsSpurious())
          << moved << " px under noise " << noise << ": " << evidence.support;
    }
  }
}

// Half a pixel is the trap: it takes a fifth off the loss, so that the model looks good.
TEST(MotionEvidenceTest, AFlowOverAnEmptySceneIsSpuriousWhateverTheNoiseAndTheTexture) {
  constexpr std::array<std::array<float, 2>, 4> kFlows = {
      {{0.5F, 0}, {0.5F, 0.5F}, {-0.3F, 0.2F}, {3, -1}}};
  for (const double noise : {0.0, 2.0, 6.0}) {
    for (const double contrast : {0.0, 3.0}) {
      for (const auto& [dx, dy] : kFlows) {
        const MotionEvidence evidence = Evidence(Everywhere(dx, dy), Scene(0, noise, 1, contrast),
                                                 Scene(0, noise, 2, contrast));
        EXPECT_TRUE(evidence.IsSpurious()) << dx << ", " << dy << " px under noise " << noise
                                           << ", contrast " << contrast << ": " << evidence.support;
      }
    }
  }
}

TEST(MotionEvidenceTest, AModelThatSeesNothingMoveIsRightInAnEmptyScene) {
  EXPECT_FALSE(Evidence(Everywhere(0, 0), Scene(0, 6, 1), Scene(0, 6, 2)).IsSpurious());
  EXPECT_FALSE(Evidence(Everywhere(0.05F, 0), Scene(0, 6, 1), Scene(0, 6, 2)).IsSpurious())
      << "too short to be seen";
}

TEST(MotionEvidenceTest, TheNextFramesFlowLeadsBackFromTheNewestPicture) {
  const Picture before = Scene(0, 2, 1);
  const Picture newest = Scene(1, 2, 2);
  EXPECT_FALSE(Evidence(Everywhere(1, 0), newest, before, /*backward=*/true).IsSpurious());
  EXPECT_TRUE(Evidence(Everywhere(-1, 0), newest, before, /*backward=*/true).IsSpurious());
}

TEST(MotionEvidenceTest, LeavesOutWhatIsNotFiniteOrLeadsOutside) {
  Flow flow = Everywhere(0, 0);
  flow[0] = flow[1] = NAN;
  EXPECT_EQ(Evidence(flow, Scene(0, 0, 1), Scene(0, 0, 1)).motion, 0);
  const MotionEvidence outside = Evidence(Everywhere(1e6F, 0), Scene(0, 0, 1), Scene(0, 0, 1));
  EXPECT_EQ(outside.support, 0);
  EXPECT_TRUE(outside.IsSpurious());
}

TEST(MotionEvidenceTest, TakesPicturesOfOnePixel) {
  const Picture pixel = {1, 2, 3};
  EXPECT_FALSE(
      EvidenceOf({.flow = Flow{0, 0}, .base = pixel, .target = pixel, .width = 1, .height = 1})
          .IsSpurious());
}

Prediction Worth(float loss, bool spurious = false) {
  Prediction prediction;
  prediction.model.loss = loss;
  prediction.model.loss_no_motion = 1;
  prediction.spurious_motion = spurious;
  return prediction;
}

TEST(LearningWindowTest, KnowsNothingBeforeTheFirstPrediction) {
  const RecentLearning recent = LearningWindow().Recent();
  EXPECT_EQ(recent.predictions, 0);
  EXPECT_FALSE(recent.explained().has_value());
  EXPECT_FALSE(recent.gain.has_value());
  EXPECT_FALSE(recent.sees_spurious_motion());
}

TEST(LearningWindowTest, CoversTheLastTwoHundredFinitePredictions) {
  LearningWindow window;
  for (int i = 0; i < 150; ++i) window.Record(Worth(2));
  Prediction odd = Worth(NAN);
  odd.model.finite = false;
  window.Record(odd);
  EXPECT_EQ(window.Recent().predictions, 150);
  EXPECT_NEAR(*window.Recent().explained(), -1, 1e-9);
  for (int i = 0; i < 200; ++i) window.Record(Worth(0.75F));
  EXPECT_EQ(window.Recent().predictions, 200);
  EXPECT_NEAR(*window.Recent().explained(), 0.25, 1e-9);
}

TEST(LearningWindowTest, TheGainIsThatOfTheSums) {
  LearningWindow window;
  Prediction compared = Worth(0.9F);
  compared.comparison = {.loss = 0.8, .loss_no_motion = 1, .loss_reference = 0.6};
  window.Record(compared);
  compared.comparison = {.loss = 0.4, .loss_no_motion = 1, .loss_reference = 0.4};
  window.Record(compared);
  EXPECT_NEAR(*window.Recent().gain, (2 - 1.2) / (2 - 1.0), 1e-9);
  compared.comparison = {.loss = 0.4, .loss_no_motion = 1, .loss_reference = 3};
  window.Record(compared);
  EXPECT_FALSE(window.Recent().gain.has_value()) << "the reference is worse than no motion";
}

TEST(LearningWindowTest, MostPredictionsDecideWhetherMotionIsSpurious) {
  LearningWindow window;
  for (int i = 0; i < 199; ++i) window.Record(Worth(0.8F, /*spurious=*/true));
  EXPECT_FALSE(window.Recent().sees_spurious_motion()) << "the window is not full";
  window.Record(Worth(0.8F, /*spurious=*/true));
  EXPECT_TRUE(window.Recent().sees_spurious_motion());
  for (int i = 0; i < 100; ++i) window.Record(Worth(0.8F));
  EXPECT_EQ(window.Recent().spurious_share, 0.5);
  EXPECT_FALSE(window.Recent().sees_spurious_motion());
}

}  // namespace
}  // namespace millrace::service
