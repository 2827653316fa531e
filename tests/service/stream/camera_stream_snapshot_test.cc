// The figures that a snapshot of a camera stream shows.
#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/stream/camera_stream.h"
#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CameraStreamTest, SnapshotShowsRatesDelaysAndLosses) {
  std::vector<double> observed;
  FakeStream fake = StartFakeStream(
      {.queue_capacity = 8, .live = false, .observe = [&](const Prediction& prediction) {
         observed.push_back(std::chrono::duration<double>(prediction.delay).count());
       }});
  for (int i = 0; i < 21; ++i) {
    fake.source->Push();
    fake.learner->WaitForAdmitted(i);
    fake.clock->Advance(milliseconds(i == 20 ? 90 : 30));
    if (i > 0) fake.learner->Predict();
    fake.clock->Advance(milliseconds(70));
  }

  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_EQ(snapshot.uri, "rtsp://***@camera/1");
  EXPECT_NEAR(snapshot.frames_per_second_in, 10, 0.5);
  EXPECT_NEAR(snapshot.predictions_per_second, 10, 0.5);
  EXPECT_DOUBLE_EQ(snapshot.delay_p50_s, 0.030);
  EXPECT_DOUBLE_EQ(snapshot.delay_p99_s, 0.090);
  EXPECT_GT(snapshot.recent.loss, 0);
  EXPECT_DOUBLE_EQ(snapshot.recent.loss_no_motion, 2 * snapshot.recent.loss);
  EXPECT_THAT(snapshot.updates, ElementsAre(20, 20));
  EXPECT_EQ(observed.size(), 20u);
  fake.stream->Stop();
}

TEST(CameraStreamTest, SnapshotShowsHowBusyTheStagesAre) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  EXPECT_THAT(fake.stream->Snapshot().loads, IsEmpty()) << "nothing to compare with yet";
  fake.learner->SetWorked({{.predicting = seconds(1), .learning = seconds(2)}});
  for (int i = 0; i < 2; ++i) fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  fake.clock->Advance(seconds(4));
  fake.learner->SetWorked({{.predicting = seconds(2), .learning = seconds(4)}});

  const std::vector<StageLoad> loads = fake.stream->Snapshot().loads;
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_DOUBLE_EQ(loads[0].predicting, 0.25);
  EXPECT_DOUBLE_EQ(loads[0].learning, 0.5);
  fake.learner->Predict();
  fake.stream->Stop();
}

TEST(CameraStreamTest, SnapshotShowsHowBusyTheLinksAre) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  fake.learner->SetRanks({.expected = 2, .joined = 2, .links = {{.from = 1, .to = 0}}});
  for (int i = 0; i < 2; ++i) fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  fake.clock->Advance(seconds(4));
  const pipeline::LinkFigures sent{.from = 1, .to = 0, .bytes = 500, .busy = seconds(3)};
  fake.learner->SetRanks({.expected = 2, .joined = 2, .links = {sent}});

  const std::vector<LinkLoad> links = fake.stream->Snapshot().links;
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].from, 1);
  EXPECT_EQ(links[0].to, 0);
  EXPECT_DOUBLE_EQ(links[0].share, 0.75);
  fake.learner->Predict();
  fake.stream->Stop();
}

TEST(CameraStreamTest, SnapshotShowsWhatHasBecomeOfLearning) {
  FakeStream fake = StartFakeStream();
  EXPECT_EQ(fake.stream->Snapshot().learning.roll_backs, 0);
  EXPECT_EQ(fake.stream->Snapshot().learning.rate_scale, 1);

  fake.learner->SetLearning({.roll_backs = 2, .drifts = 3, .rate_scale = 0.25});
  const pipeline::LearningFigures learning = fake.stream->Snapshot().learning;
  EXPECT_EQ(learning.roll_backs, 2);
  EXPECT_EQ(learning.drifts, 3);
  EXPECT_EQ(learning.rate_scale, 0.25);
}

TEST(CameraStreamTest, PredictionThatIsNotFiniteIsPublishedAndLeftOutOfTheMeans) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  for (int i = 0; i < 3; ++i) fake.source->Push();
  fake.learner->Predict();
  fake.learner->PredictNonFinite();
  fake.learner->Predict();

  EXPECT_FALSE(fake.stream->ring().Newest()->model.finite);
  EXPECT_DOUBLE_EQ(fake.stream->Snapshot().recent.loss, 1);
  EXPECT_EQ(fake.stream->Snapshot().frames.predicted, 2u);
}

TEST(CameraStreamTest, CountsPredictionsThatNothingWasLearnedFromByReason) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  fake.source->Push();
  // The reasons one, two, three times ..., and samples that are learned from before and after.
  const auto film = [&](pipeline::SkipReason reason, int frames) {
    fake.learner->ChangePredictions([=](pipeline::ModelPrediction& p) { p.skipped = reason; });
    for (int i = 0; i < frames; ++i) {
      fake.source->Push();
      fake.learner->Predict();
    }
  };
  film(pipeline::SkipReason::kNone, 3);
  for (int reason = 1; reason < pipeline::kSkipReasons; ++reason) {
    film(static_cast<pipeline::SkipReason>(reason), reason);
  }
  film(pipeline::SkipReason::kNone, 2);

  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_THAT(snapshot.skipped, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(snapshot.frames.predicted, 60u);
}

}  // namespace
}  // namespace millrace::service
