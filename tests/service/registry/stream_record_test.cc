#include "service/registry/stream_record.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StreamRecordTest : public ::testing::Test {
 protected:
  void Record(std::int64_t number, float loss = 0.5F) {
    Prediction prediction;
    prediction.frame_number = number;
    prediction.delay = milliseconds(100);
    prediction.model.loss = loss;
    prediction.model.loss_no_motion = 1;
    prediction.model.finite = std::isfinite(loss);
    record_.Record(prediction);
  }

  FakeClock clock_;
  StreamRecord record_{clock_, clock_.Now()};
};

Prediction At(std::int64_t epoch, seconds stream_time, float loss) {
  Prediction prediction;
  prediction.epoch = epoch;
  prediction.stream_time = stream_time;
  prediction.model.loss = loss;
  prediction.model.loss_no_motion = 1;
  return prediction;
}

// The clock of the machine stands still: windows are of the stream's own time.
TEST(StreamRecordScoresTest, WindowsGoOnOverEpochs) {
  const FakeClock clock;
  StreamRecord record(clock, clock.Now(), seconds(10));
  for (int i = 0; i < 8; ++i) record.Record(At(0, seconds(100 + i), 0.5F));
  EXPECT_FALSE(record.Stats().window.has_value()) << "it is not full";
  // A new session, whose clock begins at 3: five of its seconds end the first window.
  for (int i = 0; i < 5; ++i) record.Record(At(1, seconds(3 + i), 0.25F));
  const RunStats stats = record.Stats();
  ASSERT_TRUE(stats.window.has_value());
  EXPECT_EQ(stats.window->start, seconds(100));
  EXPECT_EQ(stats.window->summary.predictions, 11);
  EXPECT_NEAR(stats.window->summary.loss, (8 * 0.5 + 3 * 0.25) / 11, 1e-9);
  EXPECT_EQ(stats.scores.predictions, 13);
  EXPECT_FALSE(stats.scores.gain().has_value()) << "there is nothing to compare with";
}

TEST(StreamRecordScoresTest, ComparisonJudgesBothAlike) {
  const FakeClock clock;
  StreamRecord record(clock, clock.Now());
  Prediction prediction = At(0, seconds(0), 0.9F);
  prediction.comparison = {.loss = 0.6, .loss_no_motion = 1, .loss_reference = 0.5};
  record.Record(prediction);
  const pipeline::ScoreSummary scores = record.Stats().scores;
  EXPECT_NEAR(scores.loss, 0.6, 1e-9);
  EXPECT_NEAR(*scores.loss_reference, 0.5, 1e-9);
  EXPECT_NEAR(*scores.gain(), 0.8, 1e-9);
}

TEST_F(StreamRecordTest, HasNoRatesBeforeTheSecondPrediction) {
  EXPECT_EQ(record_.Stats().rate_in, 0);
  Record(0);
  EXPECT_EQ(record_.Stats().rate_in, 0);
  EXPECT_EQ(record_.Stats().rate_out, 0);
}

TEST_F(StreamRecordTest, CountsDroppedFramesInTheRateIn) {
  for (int i = 0; i < 5; ++i) {
    Record(i * 3);
    clock_.Advance(milliseconds(300));
  }
  EXPECT_NEAR(record_.Stats().rate_in, 10, 1e-9);
  EXPECT_NEAR(record_.Stats().rate_out, 10.0 / 3, 1e-9);
  EXPECT_NEAR(record_.Stats().seconds, 1.3, 1e-9) << "from the first arrival";
}

TEST_F(StreamRecordTest, AddsUpFiniteLossesOnly) {
  Record(0);
  Record(1, std::numeric_limits<float>::infinity());
  Record(2);
  const RunStats stats = record_.Stats();
  EXPECT_EQ(stats.predictions, 3u);
  EXPECT_EQ(stats.not_finite, 1u);
  EXPECT_DOUBLE_EQ(stats.loss_sum, 1);
  EXPECT_DOUBLE_EQ(stats.loss_no_motion_sum, 2);
}

TEST_F(StreamRecordTest, HistoryHasAMeanForEachSecondThatIsOver) {
  Record(0, 0.2F);
  Record(1, 0.4F);
  EXPECT_THAT(record_.HistoryAfter(-1), IsEmpty());
  clock_.Advance(seconds(2));
  Record(2);
  const std::vector<LossPoint> history = record_.HistoryAfter(-1);
  ASSERT_THAT(history, SizeIs(1));
  EXPECT_EQ(history[0].second, 0);
  EXPECT_NEAR(history[0].loss, 0.3, 1e-6);
  EXPECT_NEAR(history[0].recent_loss, 0.3, 1e-6);
  EXPECT_THAT(record_.HistoryAfter(0), IsEmpty());
}

// The chart and the figure beside it are the same quantity over the same predictions.
TEST_F(StreamRecordTest, HistorySaysWhatTheRecentPredictionsWereWorthAtEachSecondsEnd) {
  LearningWindow shown;
  std::vector<RecentLearning> expected;
  for (int i = 0; i < 900; ++i) {
    const float loss = 0.3F + 0.2F * std::sin(static_cast<float>(i) / 40);
    Record(i, loss);
    Prediction prediction;
    prediction.model.loss = loss;
    prediction.model.loss_no_motion = 1;
    shown.Record(prediction);
    if (i % 30 == 29) {  // Thirty a second.
      expected.push_back(shown.Recent());
      clock_.Advance(seconds(1));
    }
  }
  Record(900);
  const std::vector<LossPoint> history = record_.HistoryAfter(-1);
  ASSERT_EQ(history.size(), expected.size());
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_DOUBLE_EQ(history[i].recent_loss, expected[i].loss) << i;
    EXPECT_DOUBLE_EQ(history[i].recent_loss_no_motion, expected[i].loss_no_motion) << i;
  }
}

TEST_F(StreamRecordTest, HistoryKeepsTenMinutes) {
  for (int i = 0; i < 1000; ++i) {
    Record(i);
    clock_.Advance(seconds(1));
  }
  const std::vector<LossPoint> history = record_.HistoryAfter(-1);
  ASSERT_THAT(history, SizeIs(600));
  EXPECT_EQ(history.back().second, 998);
}

TEST(DelayHistogramTest, QuantilesAreRightToHalfAPercent) {
  DelayHistogram delays;
  for (int ms = 1; ms <= 1000; ++ms) delays.Add(milliseconds(ms));
  EXPECT_NEAR(delays.QuantileSeconds(0.5), 0.5, 0.0026);
  EXPECT_NEAR(delays.QuantileSeconds(0.99), 0.99, 0.0051);
  EXPECT_NEAR(delays.QuantileSeconds(1), 1, 0.0051);
  EXPECT_NEAR(delays.QuantileSeconds(0), 0.001, 0.000006);
}

TEST(DelayHistogramTest, IsZeroWhenEmpty) { EXPECT_EQ(DelayHistogram().QuantileSeconds(0.5), 0); }

TEST(DelayHistogramTest, AddsUp) {
  DelayHistogram fast;
  DelayHistogram slow;
  for (int i = 0; i < 99; ++i) fast.Add(milliseconds(10));
  slow.Add(seconds(10));
  fast.Add(slow);
  EXPECT_EQ(fast.count(), 100u);
  EXPECT_NEAR(fast.QuantileSeconds(0.99), 0.01, 0.0001);
  EXPECT_NEAR(fast.QuantileSeconds(1), 10, 0.06);
}

TEST(DelayHistogramTest, TakesDelaysOffTheScale) {
  DelayHistogram delays;
  delays.Add(nanoseconds(0));
  delays.Add(nanoseconds(-5));
  delays.Add(std::chrono::hours(100));
  EXPECT_EQ(delays.count(), 3u);
  EXPECT_GT(delays.QuantileSeconds(1), 900);
}

}  // namespace
}  // namespace millrace::service
