#include "service/console/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

StreamSummary LearnedStream(const std::string& name) {
  FakeClock clock;
  FakeCameraStream stream(name);
  StreamRecord record(clock, clock.Now());
  for (std::int64_t number = 0; number < 11; ++number) {
    record.Record(*MovingDisc(name, number * 2, 16, 16));  // Every other frame was dropped.
    clock.Advance(milliseconds(200));
  }
  return Summarise(*Borrowed(stream, record));
}

TEST(SummaryJsonTest, SaysWhatTheRunCameTo) {
  const std::vector<StreamSummary> streams = {LearnedStream("street")};
  const json summary = SummaryJson(streams);
  for (const json& part : {summary, summary["streams"][0]}) {
    EXPECT_EQ(part["frames_received"], 412);
    EXPECT_EQ(part["predicted"], 405);
    EXPECT_EQ(part["dropped"], json({{"queue_full", 3},
                                     {"no_predecessor", 1},
                                     {"gap", 0},
                                     {"rejected", 0},
                                     {"shutdown", 0},
                                     {"paused", 0},
                                     {"ranks_lost", 0}}));
    EXPECT_EQ(part["in_flight"], 3);
    EXPECT_NEAR(part["rate_in"], 10, 1e-9);
    EXPECT_NEAR(part["rate_out"], 5, 1e-9);
    EXPECT_NEAR(part["delay_ms"]["p50"], 134, 1);
    EXPECT_NEAR(part["delay_ms"]["p99"], 134, 1);
    EXPECT_NEAR(part["loss"], 0.037, 1e-9);
    EXPECT_NEAR(part["loss_no_motion"], 0.05, 1e-9);
    EXPECT_NEAR(part["ratio_last_200"], 0.74, 1e-9);
  }
}

TEST(SummaryJsonTest, HasTheMeansOfTheTermsThatItLearnedBy) {
  const std::vector<StreamSummary> streams = {LearnedStream("street")};
  // As MovingDisc() has them.
  EXPECT_EQ(SummaryJson(streams)["streams"][0]["loss_terms"],
            json({{"photometric", 0.5}, {"smoothness", 2.0}}));
}

TEST(SummaryJsonTest, SaysWhatBecameOfLearning) {
  StreamSummary stream = LearnedStream("street");
  stream.snapshot.skipped[static_cast<int>(pipeline::SkipReason::kRepeated)] = 20;
  stream.snapshot.skipped[static_cast<int>(pipeline::SkipReason::kCut)] = 1;
  stream.snapshot.learning = {.roll_backs = 1,
                              .drifts = 2,
                              .rate_scale = 0.5,
                              .checkpoints = {.written = 3, .failed = 4, .kept_until = {}}};
  const std::vector<StreamSummary> streams = {stream};
  const json learning = SummaryJson(streams)["streams"][0]["learning"];
  EXPECT_EQ(learning["not_learned_from"]["repeated"], 20);
  EXPECT_EQ(learning["not_learned_from"]["policy"], 0);
  EXPECT_EQ(learning["roll_backs"], 1);
  EXPECT_EQ(learning["drifts"], 2);
  EXPECT_EQ(learning["learning_rate_ratio"], 0.5);
  EXPECT_EQ(learning["checkpoints"], json({{"written", 3}, {"failed", 4}}));
  EXPECT_THAT(
      SummaryText(streams),
      HasSubstr("  learned   from 384 predictions, not from 21 (repeated 20, cut 1), rolled back 1 "
                "time, 2 drifts, 3 checkpoints and 4 that could not be written\n"));
  EXPECT_THAT(SummaryText(std::vector<StreamSummary>{LearnedStream("street")}),
              HasSubstr("  learned   from 405 predictions\n"));
  stream.snapshot.frames.predicted = 22;
  EXPECT_THAT(SummaryText(std::vector<StreamSummary>{stream}),
              HasSubstr("  learned   from 1 prediction, not from 21"));
}

TEST(SummaryJsonTest, SaysWhatPredictionsWereWorth) {
  StreamSummary stream = LearnedStream("street");
  const std::vector<StreamSummary> alone = {stream};
  const json scores = SummaryJson(alone)["streams"][0]["scores"];
  EXPECT_EQ(scores["whole"]["predictions"], 11);
  EXPECT_EQ(scores["whole"]["learned_from"], 11);
  EXPECT_NEAR(scores["whole"]["loss_ratio"], 0.74, 1e-6);
  EXPECT_TRUE(scores["whole"]["gain"].is_null());
  EXPECT_TRUE(scores["window"].is_null());
  EXPECT_THAT(SummaryText(alone),
              HasSubstr("  scores    explains 26 % of the motion over the whole run\n"));

  stream.stats.scores.loss_reference = 0.025;
  stream.stats.window = pipeline::ScoreWindow{
      .start = std::chrono::seconds(60),
      .summary = {.predictions = 4, .loss = 0.03, .loss_no_motion = 0.05, .loss_p90 = 0.04}};
  const std::vector<StreamSummary> compared = {stream};
  const json window = SummaryJson(compared)["streams"][0]["scores"]["window"];
  EXPECT_EQ(window["start_s"], 60);
  EXPECT_EQ(window["loss_p90"], 0.04);
  EXPECT_THAT(SummaryText(compared),
              HasSubstr("  scores    explains 26 % of the motion over the whole run, 40 % in the "
                        "last window; the reference 50 %\n"));
}

TEST(SummaryJsonTest, IdentifiesTheRun) {
  const json summary = SummaryJson(std::vector<StreamSummary>{LearnedStream("street")});
  ASSERT_THAT(summary["streams"], SizeIs(1));
  const json& stream = summary["streams"][0];
  EXPECT_EQ(stream["name"], "street");
  EXPECT_EQ(stream["source"], "street.avi");
  EXPECT_EQ(stream["schedule"], "one_f_one_b_star");
  EXPECT_THAT(stream["stages"], SizeIs(2));
  EXPECT_EQ(stream["stages"][0]["layers"], json({"features", "level 1"}));
  EXPECT_THAT(stream["cuts"], ElementsAre(2));
  EXPECT_THAT(stream["updates"], ElementsAre(404, 405));
}

TEST(SummaryJsonTest, TellsHowOftenItWasPlannedAgain) {
  StreamSummary stream = LearnedStream("street");
  EXPECT_TRUE(SummaryJson(std::vector<StreamSummary>{stream})["streams"][0]["rate_plan"].is_null());
  stream.learner.rate_plan = {.switched = 2};
  const json summary = SummaryJson(std::vector<StreamSummary>{stream});
  EXPECT_EQ(summary["streams"][0]["rate_plan"]["times_switched"], 2);
}

TEST(SummaryJsonTest, AddsStreamsUp) {
  const json summary =
      SummaryJson(std::vector<StreamSummary>{LearnedStream("gate"), LearnedStream("yard")});
  EXPECT_EQ(summary["frames_received"], 824);
  EXPECT_EQ(summary["dropped"]["queue_full"], 6);
  EXPECT_NEAR(summary["rate_in"], 20, 1e-9);
  EXPECT_NEAR(summary["delay_ms"]["p50"], 134, 1);
  EXPECT_NEAR(summary["ratio_last_200"], 0.74, 1e-9);
}

TEST(SummaryJsonTest, IsNullWhereNothingWasPredicted) {
  FakeClock clock;
  FakeCameraStream stream("street");
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.frames = {};
    snapshot.recent = {};
  });
  StreamRecord record(clock, clock.Now());
  const json summary =
      SummaryJson(std::vector<StreamSummary>{Summarise(*Borrowed(stream, record))});
  EXPECT_TRUE(summary["delay_ms"]["p50"].is_null());
  EXPECT_TRUE(summary["loss"].is_null());
  EXPECT_TRUE(summary["ratio_last_200"].is_null());
  EXPECT_EQ(summary["rate_in"], 0);
}

TEST(SummaryTextTest, ShowsTheIdentityAndTheReasons) {
  const std::string text = SummaryText(std::vector<StreamSummary>{LearnedStream("street")});
  EXPECT_THAT(text, HasSubstr("412 received = 405 predicted + 4 dropped (queue_full 3, "
                              "no_predecessor 1) + 3 in flight"));
  EXPECT_THAT(text, HasSubstr("  loss      0.0370, no motion's 0.0500: explains 26 % of the motion "
                              "(last 200)\n"));
}

// It was "0 predictions in 0.0 s", however long the camera had been away.
TEST(SummaryTextTest, OfACameraThatNeverCameSaysWhy) {
  StreamSummary stream = LearnedStream("gate");
  stream.stats = {};
  stream.snapshot.frames = {};
  stream.snapshot.source.state = ingest::SourceState::kStopped;
  stream.snapshot.source.cause = absl::UnavailableError("rtsp://camera/1: no route to host");
  EXPECT_THAT(SummaryText(std::vector<StreamSummary>{stream}),
              StartsWith("gate: no frame came: rtsp://camera/1: no route to host\n  frames "));

  stream.snapshot.frames = {.received = 1, .predicted = 0, .dropped = {0, 1}, .in_flight = 0};
  stream.snapshot.source.cause = absl::OkStatus();
  EXPECT_THAT(SummaryText(std::vector<StreamSummary>{stream}),
              StartsWith("gate: no prediction\n  frames "));
}

TEST(SummaryTextTest, SaysThatAModelSeesMotionWhereNothingMoves) {
  StreamSummary stream = LearnedStream("street");
  stream.snapshot.recent.spurious_share = 0.9;
  EXPECT_THAT(SummaryText(std::vector<StreamSummary>{stream}),
              HasSubstr("26 % of the motion, sees motion where nothing moves (last 200)\n"));
}

}  // namespace
}  // namespace millrace::service
