#include "pipeline/evaluation/scored_stream.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kWidth = 8;
constexpr int kHeight = 6;

class ScoredStreamTest : public ::testing::Test {
 protected:
  std::mt19937 random_{1};
  const std::vector<ClipPair> pairs_ =
      RandomPairs(/*pairs=*/25, kWidth, kHeight, milliseconds(100), random_);
  const std::vector<float> flow_ = RandomFlow(kWidth, kHeight, 1, random_);
};

TEST_F(ScoredStreamTest, WindowsFollowTheStreamsOwnTime) {
  StreamScorer scorer(seconds(1), kWidth, kHeight);
  for (const ClipPair& pair : pairs_) (void)scorer.Add(pair, flow_, /*learned_from=*/true);
  const ScoredStream scored = std::move(scorer).Finish();
  ASSERT_EQ(scored.windows.size(), 3u);
  EXPECT_EQ(scored.windows[0].start, milliseconds(100));
  EXPECT_EQ(scored.windows[1].start, milliseconds(1100));
  EXPECT_EQ(scored.windows[0].scores.loss.predictions, 10);
  EXPECT_EQ(scored.windows[2].scores.loss.predictions, 5);
  EXPECT_EQ(scored.windows[2].scores.flow.error.count(), 5 * kWidth * kHeight);
}

TEST_F(ScoredStreamTest, LossesThatAreKnownAreScoredAsThoseOfAFlow) {
  StreamScorer by_flow(seconds(1), kWidth, kHeight);
  StreamScorer by_losses(seconds(1), kWidth, kHeight);
  for (const ClipPair& pair : pairs_) {
    const double loss = by_flow.Add(pair, flow_, /*learned_from=*/true);
    const PairOfPictures pictures(*pair.previous, *pair.current, kWidth, kHeight);
    by_losses.AddLosses(pair, {.loss = loss, .loss_no_motion = pictures.LossOfNoMotion()}, true);
  }
  const ScoredStream expected = std::move(by_flow).Finish();
  const ScoredStream scored = std::move(by_losses).Finish();
  EXPECT_EQ(scored.whole.loss.loss, expected.whole.loss.loss);
  EXPECT_EQ(scored.whole.loss.loss_no_motion, expected.whole.loss.loss_no_motion);
  ASSERT_EQ(scored.windows.size(), expected.windows.size());
  EXPECT_EQ(scored.windows[2].scores.loss.loss_p90, expected.windows[2].scores.loss.loss_p90);
  EXPECT_EQ(scored.whole.flow.error.count(), 0) << "no flow is scored";
  EXPECT_EQ(scored.whole.flow.reconstructed.count(), 0);
}

TEST_F(ScoredStreamTest, ALossThatIsNotFiniteCountsAsNoMotion) {
  StreamScorer scorer(seconds(1), kWidth, kHeight);
  scorer.AddLosses(pairs_[0], {.loss = std::nan(""), .loss_no_motion = 0.5}, false);
  EXPECT_EQ(std::move(scorer).Finish().whole.loss.loss, 0.5);
}

TEST_F(ScoredStreamTest, TheWholeIsTheSumOfItsWindows) {
  StreamScorer scorer(milliseconds(700), kWidth, kHeight);
  double losses = 0;
  for (const ClipPair& pair : pairs_) {
    const double loss = scorer.Add(pair, flow_, pair.number % 3 == 0);
    EXPECT_EQ(loss, PairOfPictures(*pair.previous, *pair.current, kWidth, kHeight).Loss(flow_));
    losses += loss;
  }
  const ScoredStream scored = std::move(scorer).Finish();
  FlowScores sum;
  double window_losses = 0;
  std::int64_t predictions = 0;
  std::int64_t learned = 0;
  for (const WindowScores& window : scored.windows) {
    const ScoreSummary& loss = window.scores.loss;
    sum.Add(window.scores.flow);
    predictions += loss.predictions;
    learned += loss.learned_from;
    window_losses += loss.loss * static_cast<double>(loss.predictions);
  }
  EXPECT_EQ(scored.whole.loss.predictions, 25);
  EXPECT_EQ(predictions, 25);
  EXPECT_EQ(learned, 9);
  EXPECT_EQ(scored.whole.loss.learned_from, 9);
  EXPECT_NEAR(scored.whole.loss.loss, losses / 25, 1e-12);
  EXPECT_NEAR(window_losses, losses, 1e-9);
  EXPECT_EQ(scored.whole.flow.error.count(), sum.error.count());
  EXPECT_NEAR(*scored.whole.flow.error.mean(), *sum.error.mean(), 1e-9);
  EXPECT_EQ(*scored.whole.flow.motion.f1(), *sum.motion.f1());
}

TEST_F(ScoredStreamTest, AGainIsMeasuredAgainstTheReferencesLossOnTheSamePairs) {
  std::vector<double> losses;
  for (const ClipPair& pair : pairs_) {
    const double at_rest =
        PairOfPictures(*pair.previous, *pair.current, kWidth, kHeight).LossOfNoMotion();
    losses.push_back(at_rest / 2);
  }
  StreamScorer scorer(seconds(1), kWidth, kHeight, losses);
  for (const ClipPair& pair : pairs_) (void)scorer.Add(pair, flow_, true);
  const ScoredStream scored = std::move(scorer).Finish();
  const ScoreSummary& whole = scored.whole.loss;
  ASSERT_TRUE(whole.gain().has_value());
  EXPECT_NEAR(*whole.gain(), (whole.loss_no_motion - whole.loss) / (whole.loss_no_motion / 2),
              1e-9);
}

TEST_F(ScoredStreamTest, PairsBeyondTheReferencesHaveNoGain) {
  const std::vector<double> of_two = {0.01, 0.01};
  StreamScorer scorer(milliseconds(200), kWidth, kHeight, of_two);
  for (const ClipPair& pair : pairs_) (void)scorer.Add(pair, flow_, true);
  const ScoredStream scored = std::move(scorer).Finish();
  EXPECT_TRUE(scored.windows.front().scores.loss.gain().has_value());
  EXPECT_EQ(scored.windows.back().scores.loss.gain(), std::nullopt);
}

TEST_F(ScoredStreamTest, NothingScoredIsNothing) {
  const ScoredStream scored = StreamScorer(seconds(1), kWidth, kHeight).Finish();
  EXPECT_TRUE(scored.windows.empty());
  EXPECT_EQ(scored.whole.loss.predictions, 0);
  EXPECT_EQ(scored.whole.flow.error.mean(), std::nullopt);
}

}  // namespace
}  // namespace millrace::pipeline
