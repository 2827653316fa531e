#include "pipeline/evaluation/flow_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 12;
constexpr int kHeight = 8;
constexpr int kPixels = kWidth * kHeight;

// Two pictures without anything to see: for scores that only the truth decides.
FlowScores Scored(const std::vector<float>& flow, const TrueFlow& truth) {
  const std::vector<std::uint8_t> grey(std::size_t{3} * kPixels, 128);
  return ScoresOf(PairOfPictures(grey, grey, kWidth, kHeight), flow, &truth);
}

FlowScores Scored(float dx, float dy, float true_dx, float true_dy) {
  return Scored(ConstantFlow(kWidth, kHeight, dx, dy),
                {.width = kWidth,
                 .height = kHeight,
                 .flow = ConstantFlow(kWidth, kHeight, true_dx, true_dy)});
}

struct Vector {
  long double u = 0;
  long double v = 0;

  [[nodiscard]] long double length() const { return std::sqrt(u * u + v * v); }
  [[nodiscard]] bool moves() const { return std::abs(u) > 0.5L || std::abs(v) > 0.5L; }
};

Vector At(const std::vector<float>& flow, int pixel) {
  return {flow[2 * pixel], flow[2 * pixel + 1]};
}

// By the sine and cosine, which know no rounding above 1.
long double AngleBetween(const Vector& a, const Vector& b) {
  const long double x = a.v - b.v, y = b.u - a.u, z = a.u * b.v - a.v * b.u;
  const long double sine = std::sqrt(x * x + y * y + z * z);
  return std::atan2(sine, a.u * b.u + a.v * b.v + 1) * 180 / std::numbers::pi_v<double>;
}

struct SlowMean {
  long double sum = 0;
  int count = 0;

  void Add(long double value) {
    sum += value;
    ++count;
  }
};

// Every mean, pixel by pixel as the papers define it, in long double.
struct SlowScores {
  long double error = 0, outlier = 0, angle = 0;
  SlowMean slow, medium, fast;
  int both = 0, said = 0, meant = 0;

  SlowMean& ForLength(long double length) {
    return length < 1 ? slow : length <= 10 ? medium : fast;
  }
};

SlowScores Slowly(const std::vector<float>& flow, const std::vector<float>& truth) {
  SlowScores sums;
  for (int i = 0; i < kPixels; ++i) {
    const Vector said = At(flow, i), meant = At(truth, i);
    const long double error = Vector{said.u - meant.u, said.v - meant.v}.length();
    const long double length = meant.length();
    sums.error += error;
    sums.outlier += static_cast<int>(error > 3 && error / length > 0.05L);
    sums.angle += AngleBetween(said, meant);
    sums.ForLength(length).Add(error);
    sums.both += static_cast<int>(said.moves() && meant.moves());
    sums.said += static_cast<int>(said.moves());
    sums.meant += static_cast<int>(meant.moves());
  }
  return sums;
}

void ExpectMean(const PixelMean& mean, const SlowMean& slow) {
  EXPECT_EQ(mean.count(), slow.count);
  EXPECT_NEAR(mean.mean().value_or(0), slow.sum / std::max(1, slow.count), 1e-6);
}

TEST(FlowScoresTest, TheyAreThoseOfASlowOracle) {
  std::mt19937 random(1);
  for (const float spread : {0.4F, 3.0F, 30.0F}) {
    const std::vector<float> truth = RandomFlow(kWidth, kHeight, spread, random);
    std::vector<float> flow = RandomFlow(kWidth, kHeight, 2, random);
    for (std::size_t i = 0; i < flow.size(); ++i) flow[i] += truth[i];
    const FlowScores scores = Scored(flow, {.width = kWidth, .height = kHeight, .flow = truth});
    const SlowScores slow = Slowly(flow, truth);
    EXPECT_EQ(scores.error.count(), kPixels);
    EXPECT_NEAR(*scores.error.mean(), slow.error / kPixels, 1e-6);
    EXPECT_NEAR(*scores.outlier.mean(), slow.outlier / kPixels, 1e-9);
    EXPECT_NEAR(*scores.angle.mean(), slow.angle / kPixels, 1e-4);
    ExpectMean(scores.error_slow, slow.slow);
    ExpectMean(scores.error_medium, slow.medium);
    ExpectMean(scores.error_fast, slow.fast);
    const double precision = static_cast<double>(slow.both) / slow.said;
    const double recall = static_cast<double>(slow.both) / slow.meant;
    EXPECT_NEAR(*scores.motion.f1(), 2 * precision * recall / (precision + recall), 1e-9);
  }
}

// A truth of another size is scored at the pixels of the pictures that lie there.
TEST(FlowScoresTest, TheUncertaintyIsThatOfTheNearestPixelInPixelsOfTheTruth) {
  std::mt19937 random(4);
  const auto previous = RandomBytes(kWidth, kHeight, random);
  const auto current = RandomBytes(kWidth, kHeight, random);
  const PairOfPictures pair(previous, current, kWidth, kHeight);
  const std::vector<float> flow = RandomFlow(kWidth, kHeight, 2, random);
  const std::vector<float> expected = FlowUncertainty(pair.Under(flow));
  for (const int factor : {1, 2, 3}) {
    TrueFlow truth{.width = factor * kWidth, .height = factor * kHeight};
    truth.flow = RandomFlow(truth.width, truth.height, 2, random);
    double sum = 0;
    int known = 0;
    for (int y = 0; y < truth.height; ++y) {
      for (int x = 0; x < truth.width; ++x) {
        truth.known.push_back((x + y) % 3 == 0 ? 1 : 0);
        if (truth.known.back() == 0) continue;
        sum += static_cast<double>(factor) * expected[y / factor * kWidth + x / factor];
        ++known;
      }
    }
    const FlowScores scores = ScoresOf(pair, flow, &truth);
    EXPECT_EQ(scores.uncertainty.count(), known);
    EXPECT_NEAR(*scores.uncertainty.mean(), sum / known, 1e-4 * factor);
    EXPECT_EQ(scores.ause.count(), 1);
  }
}

TEST(FlowScoresTest, APerfectFlowHasNoError) {
  const FlowScores scores = Scored(3, -4, 3, -4);
  EXPECT_EQ(scores.error.mean(), 0);
  EXPECT_EQ(scores.outlier.mean(), 0);
  EXPECT_NEAR(*scores.angle.mean(), 0, 1e-5);
  EXPECT_EQ(scores.motion.f1(), 1);
  EXPECT_EQ(scores.reconstructed.mean(), 1);
  EXPECT_EQ(scores.reconstructed_closely.mean(), 1);
}

TEST(FlowScoresTest, UnknownPixelsCountNowhere) {
  TrueFlow truth{.width = kWidth, .height = kHeight, .flow = ConstantFlow(kWidth, kHeight, 0, 0)};
  truth.known.assign(kPixels, 0);
  // All other pixels are unknown, and files have nonsense there.
  for (std::size_t i = 2 * 5; i < truth.flow.size(); ++i) truth.flow[i] = -512;
  for (int i = 0; i < 5; ++i) {
    truth.known[i] = 1;
    truth.flow[2 * i] = 2;
  }
  const FlowScores scores = Scored(ConstantFlow(kWidth, kHeight, 0, 0), truth);
  EXPECT_EQ(scores.error.count(), 5);
  EXPECT_EQ(*scores.error.mean(), 2);
  EXPECT_EQ(scores.motion.true_only, 5);
  EXPECT_EQ(scores.reconstructed.count(), 5) << "where nobody knows of motion there is none";
}

TEST(FlowScoresTest, WhatIsVisibleAndWhatIsHiddenStandApart) {
  TrueFlow truth{.width = kWidth, .height = kHeight, .flow = ConstantFlow(kWidth, kHeight, 1, 0)};
  std::vector<float> flow = truth.flow;
  truth.visible.assign(kPixels, 1);
  for (int i = 0; i < 10; ++i) {
    truth.visible[i] = 0;
    flow[2 * i] += 7;
  }
  const FlowScores scores = Scored(flow, truth);
  EXPECT_EQ(scores.error_visible.count(), kPixels - 10);
  EXPECT_EQ(scores.error_visible.mean(), 0);
  EXPECT_EQ(scores.error_hidden.count(), 10);
  EXPECT_EQ(scores.error_hidden.mean(), 7);
  truth.visible.clear();
  EXPECT_EQ(Scored(flow, truth).error_hidden.mean(), std::nullopt);
}

TEST(FlowScoresTest, SpeedsAreParted) {
  EXPECT_EQ(Scored(0, 0, 0.99F, 0).error_slow.count(), kPixels);
  EXPECT_EQ(Scored(0, 0, 1, 0).error_medium.count(), kPixels);
  EXPECT_EQ(Scored(0, 0, 6, 8).error_medium.count(), kPixels);
  EXPECT_EQ(Scored(0, 0, 6, 8.1F).error_fast.count(), kPixels);
}

// KITTI's Fl asks for both.
TEST(FlowScoresTest, AnOutlierIsFarOffByPixelsAndByShare) {
  EXPECT_EQ(Scored(3, 0, 0, 0).outlier.mean(), 0) << "3 pixels off are not above 3";
  EXPECT_EQ(Scored(3.1F, 0, 0, 0).outlier.mean(), 1);
  EXPECT_EQ(Scored(104, 0, 100, 0).outlier.mean(), 0) << "4 of 100 pixels are 4 %";
  EXPECT_EQ(Scored(106, 0, 100, 0).outlier.mean(), 1);
}

TEST(FlowScoresTest, AnglesAreThoseOfThePapersVectors) {
  EXPECT_NEAR(*Scored(0, 0, 1, 0).angle.mean(), 45, 1e-5);
  EXPECT_NEAR(*Scored(1, 0, -1, 0).angle.mean(), 90, 1e-5);
  EXPECT_NEAR(*Scored(0, 0, std::sqrt(3.0F), 0).angle.mean(), 60, 1e-5);
  EXPECT_NEAR(*Scored(1e6F, 0, 0, 0).angle.mean(), 90, 1e-3);
}

TEST(FlowScoresTest, MotionIsOfAnySide) {
  EXPECT_EQ(Scored(0.5F, 0.5F, 0, 0).motion.predicted_only, 0) << "half a pixel is none";
  EXPECT_EQ(Scored(0, -0.6F, 0.6F, 0).motion.both, kPixels);
  EXPECT_EQ(Scored(0, 0, 0, 0).motion.f1(), std::nullopt) << "nothing moves, nothing was said to";
  EXPECT_EQ(Scored(2, 0, 0, 0).motion.f1(), 0);
  EXPECT_EQ(Scored(0, 0, 2, 0).motion.f1(), 0);
}

TEST(FlowScoresTest, AFlowThatIsNotFiniteCountsAsNoMotion) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {std::nanf(""), kInfinity, -kInfinity}) {
    const FlowScores scores = Scored(wrong, 1, 3, 4);
    EXPECT_EQ(scores.error.mean(), 5);
    EXPECT_EQ(scores.motion.true_only, kPixels);
    EXPECT_NEAR(*scores.angle.mean(), *Scored(0, 0, 3, 4).angle.mean(), 1e-9);
  }
}

TEST(FlowScoresTest, ATruthOfAnotherSizeIsMetInItsOwnPixels) {
  const TrueFlow truth{.width = 2 * kWidth,
                       .height = 3 * kHeight,
                       .flow = ConstantFlow(2 * kWidth, 3 * kHeight, 4, 3)};
  const FlowScores scores = Scored(ConstantFlow(kWidth, kHeight, 2, 0), truth);
  EXPECT_EQ(scores.error.count(), 6 * kPixels);
  EXPECT_NEAR(*scores.error.mean(), 3, 1e-5) << "2 x 2 is 4 across, and 3 down are missing";
  EXPECT_EQ(scores.reconstructed.count(), kPixels) << "seen in the pictures' pixels";
}

// The current picture is the previous one moved by a pixel to the right, but for its first column.
struct Moved {
  std::vector<std::uint8_t> previous;
  std::vector<std::uint8_t> current;

  explicit Moved(std::mt19937& random) : previous(RandomBytes(kWidth, kHeight, random)) {
    current = previous;
    for (int y = 0; y < kHeight; ++y) {
      const auto row = current.begin() + std::ptrdiff_t{3} * y * kWidth;
      std::copy_backward(row, row + 3 * (kWidth - 1), row + 3 * kWidth);
    }
  }
  [[nodiscard]] PairOfPictures pair() const { return {previous, current, kWidth, kHeight}; }
};

TEST(FlowScoresTest, TheRightFlowReconstructsWhatMovesAndNoMotionDoesNot) {
  std::mt19937 random(2);
  const Moved moved(random);
  // What moves: the left half.
  TrueFlow truth{.width = kWidth, .height = kHeight, .flow = ConstantFlow(kWidth, kHeight, 1, 0)};
  for (int i = 0; i < kPixels; ++i) truth.flow[2 * i] = i % kWidth < kWidth / 2 ? 1 : 0;
  const FlowScores right = ScoresOf(moved.pair(), ConstantFlow(kWidth, kHeight, 1, 0), &truth);
  EXPECT_EQ(right.reconstructed.count(), kPixels / 2);
  EXPECT_EQ(right.reconstructed_closely.mean(), 1);
  const FlowScores none = ScoresOf(moved.pair(), ConstantFlow(kWidth, kHeight, 0, 0), &truth);
  EXPECT_EQ(none.reconstructed.count(), kPixels / 2);
  EXPECT_LT(*none.reconstructed.mean(), 0.2) << "neighbours of noise are seldom alike";
}

TEST(FlowScoresTest, WithoutTruthWhatThePicturesShowDifferentlyIsToBeReconstructed) {
  std::mt19937 random(3);
  const Moved moved(random);
  const FlowScores none = ScoresOf(moved.pair(), ConstantFlow(kWidth, kHeight, 0, 0), nullptr);
  EXPECT_GT(none.reconstructed.count(), kPixels / 2);
  EXPECT_EQ(none.reconstructed.mean(), 0);
  EXPECT_EQ(none.error.mean(), std::nullopt);
  EXPECT_EQ(none.motion.f1(), std::nullopt);
  const FlowScores right = ScoresOf(moved.pair(), ConstantFlow(kWidth, kHeight, 1, 0), nullptr);
  EXPECT_EQ(right.reconstructed.count(), none.reconstructed.count());
  EXPECT_GT(*right.reconstructed.mean(), 0.85) << "all but the column that left the picture";
}

TEST(FlowScoresTest, CloselyIsHalfAsFar) {
  const std::vector<std::uint8_t> previous(std::size_t{3} * kPixels, 100);
  const std::vector<std::uint8_t> current(std::size_t{3} * kPixels, 109);  // 0.035 brighter.
  const TrueFlow truth{
      .width = kWidth, .height = kHeight, .flow = ConstantFlow(kWidth, kHeight, 1, 0)};
  const FlowScores scores =
      ScoresOf(PairOfPictures(previous, current, kWidth, kHeight), truth.flow, &truth);
  EXPECT_EQ(scores.reconstructed.mean(), 1);
  EXPECT_EQ(scores.reconstructed_closely.mean(), 0);
}

TEST(FlowScoresTest, ScoresOfManyPairsAreMeansOverAllTheirPixels) {
  FlowScores all = Scored(0, 0, 3, 4);
  TrueFlow few{.width = kWidth, .height = kHeight, .flow = ConstantFlow(kWidth, kHeight, 0, 0)};
  few.known.assign(kPixels, 0);
  few.known[0] = 1;
  all.Add(Scored(ConstantFlow(kWidth, kHeight, 0, 10), few));
  EXPECT_EQ(all.error.count(), kPixels + 1);
  EXPECT_NEAR(*all.error.mean(), (5.0 * kPixels + 10) / (kPixels + 1), 1e-9);
  EXPECT_EQ(all.motion.true_only, kPixels);
  EXPECT_EQ(all.motion.predicted_only, 1);
  EXPECT_EQ(all.error_medium.count(), kPixels);
  EXPECT_EQ(all.error_slow.count(), 1);
}

}  // namespace
}  // namespace millrace::pipeline
