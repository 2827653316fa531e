#include "service/stream/camera_stream.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

std::uint64_t Dropped(const FrameCounts& counts, DropReason reason) {
  return counts.dropped[static_cast<std::size_t>(reason)];
}

/// Reads the next prediction, waiting for it.
std::shared_ptr<const Prediction> Next(PredictionRing& ring, PredictionRing::Cursor& cursor) {
  for (;;) {
    if (auto read = ring.Read(cursor, ReadPolicy{.depth = 1000}); read.prediction) {
      return read.prediction;
    }
    std::this_thread::yield();
  }
}

TEST(CameraStreamTest, PredictionTellsItsFrameAndItsTimes) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  fake.source->Push();  // The first of its epoch: no predecessor.
  fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  fake.clock->Advance(milliseconds(40));
  fake.source->Push();
  fake.source->Push();
  fake.clock->Advance(milliseconds(60));
  fake.learner->Predict();

  const auto prediction = Next(fake.stream->ring(), cursor);
  EXPECT_EQ(prediction->stream, "street");
  EXPECT_EQ(prediction->epoch, 0);
  EXPECT_EQ(prediction->frame_number, 1);
  EXPECT_EQ(prediction->delay, milliseconds(100));
  EXPECT_EQ(prediction->delay_frames, 2);
  EXPECT_EQ(prediction->emission_time - prediction->arrival_time, milliseconds(100));
  EXPECT_FALSE(prediction->camera_time.has_value());
  EXPECT_EQ(prediction->camera_width, 768);
  EXPECT_EQ(prediction->camera_height, 576);
  EXPECT_EQ(prediction->model.sample, 0);
  EXPECT_EQ(prediction->picture->width, 4);
  EXPECT_NE(prediction->previous, nullptr);
  EXPECT_NE(prediction->previous, prediction->picture);
}

TEST(CameraStreamTest, TheNextFrameIsForetoldFromThreePictures) {
  FakeStream fake = StartFakeStream({.next_frame = true, .queue_capacity = 8});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  for (int i = 0; i < 3; ++i) fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  EXPECT_EQ(fake.learner->bytes_before, std::size_t{3} * 4 * 2);
  fake.learner->Predict();
  const auto prediction = Next(fake.stream->ring(), cursor);
  EXPECT_EQ(prediction->frame_number, 2);
  EXPECT_TRUE(prediction->next_frame);

  fake.source->Push(ingest::NoPredecessor::kGap);
  fake.source->Push();
  fake.source->Push();
  fake.learner->WaitForAdmitted(2);
  const FrameCounts counts = fake.stream->Snapshot().frames;
  EXPECT_EQ(Dropped(counts, DropReason::kNoPredecessor), 3u) << "one of them after the gap";
  EXPECT_EQ(Dropped(counts, DropReason::kGap), 1u);
}

TEST(CameraStreamTest, PredictionsAreComparedBeforeAnybodySeesThem) {
  std::vector<double> observed;
  FakeStream fake = StartFakeStream(
      {.queue_capacity = 8,
       .observe = [&](const Prediction& p) { observed.push_back(p.comparison->loss_reference); },
       .compare =
           [](Prediction& p) {
             p.comparison = {.loss_reference = static_cast<double>(p.frame_number)};
           }});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  for (int i = 0; i < 3; ++i) fake.source->Push();
  fake.learner->WaitForAdmitted(2);
  fake.learner->Predict(2);
  EXPECT_EQ(Next(fake.stream->ring(), cursor)->comparison->loss_reference, 1);
  EXPECT_EQ(Next(fake.stream->ring(), cursor)->comparison->loss_reference, 2);
  EXPECT_THAT(observed, ElementsAre(1, 2));
}

TEST(CameraStreamTest, DropsFramesWithoutPredecessorByReason) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  fake.source->Push();
  fake.source->Push();
  fake.source->Push(ingest::NoPredecessor::kGap);
  fake.source->Push();
  fake.source->Reconnect();
  fake.source->Push();
  fake.source->Push();
  fake.learner->Predict(3);
  PredictionRing& ring = fake.stream->ring();
  fake.source->End();
  fake.stream->Stop();

  EXPECT_EQ(ring.Newest()->frame_number, 5);
  EXPECT_EQ(ring.Newest()->epoch, 1);
  const FrameCounts counts = fake.stream->Snapshot().frames;
  EXPECT_EQ(counts.received, 6u);
  EXPECT_EQ(counts.predicted, 3u);
  EXPECT_EQ(Dropped(counts, DropReason::kNoPredecessor), 2u);
  EXPECT_EQ(Dropped(counts, DropReason::kGap), 1u);
  EXPECT_EQ(counts.in_flight, 0u);
}

TEST(CameraStreamTest, MarksTheFirstPredictionAfterAGap) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  fake.source->Push();
  fake.source->Push();
  fake.source->Push(ingest::NoPredecessor::kGap);
  fake.source->Push();
  fake.source->Push();
  fake.learner->Predict(3);
  for (const bool after_gap : {false, true, false}) {
    const auto prediction = Next(fake.stream->ring(), cursor);
    EXPECT_EQ(prediction->after_gap, after_gap) << prediction->frame_number;
    EXPECT_FALSE(prediction->new_size);
  }
}

// The frame right after the gap, and the one that would have had the first prediction, are dropped:
// what happened is still told.
TEST(CameraStreamTest, AGapIsToldWhateverIsDroppedAfterIt) {
  FakeStream fake = StartFakeStream({.queue_capacity = 1, .learner = {.capacity = 1}});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  fake.source->Push();
  while (fake.stream->Snapshot().frames.in_flight > 0) std::this_thread::yield();
  fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  fake.source->Push(ingest::NoPredecessor::kGap);
  for (int i = 0; i < 3; ++i) fake.source->Push();
  fake.learner->Predict();
  EXPECT_FALSE(Next(fake.stream->ring(), cursor)->after_gap);
  fake.learner->WaitForAdmitted(2);
  fake.learner->Predict();
  const auto prediction = Next(fake.stream->ring(), cursor);
  EXPECT_EQ(prediction->frame_number, 5);
  EXPECT_TRUE(prediction->after_gap);
}

TEST(CameraStreamTest, MarksTheFirstPredictionOfPicturesOfAnotherSize) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  fake.source->Push();
  fake.source->Push();
  fake.source->ChangeCamera(640, 480);
  for (int i = 0; i < 3; ++i) fake.source->Push();
  fake.source->Reconnect();
  for (int i = 0; i < 2; ++i) fake.source->Push();
  fake.learner->Predict(4);
  for (const bool new_size : {false, true, false, false}) {
    const auto prediction = Next(fake.stream->ring(), cursor);
    EXPECT_EQ(prediction->new_size, new_size) << prediction->frame_number;
    EXPECT_FALSE(prediction->after_gap);
  }
  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_EQ(snapshot.source.size_changes, 1);
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kNoPredecessor), 3U);
}

TEST(CameraStreamTest, NumbersOnWhereTheCheckpointWas) {
  const pipeline::SourcePosition before = {.frames = 1000, .epochs = 3};
  FakeStream fake = StartFakeStream(
      {.queue_capacity = 8, .live = false, .learner = {.resumption = {.position = before}}});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  EXPECT_EQ(fake.position(), before);
  for (int i = 0; i < 2; ++i) fake.source->Push();
  fake.source->Reconnect();
  for (int i = 0; i < 2; ++i) fake.source->Push();
  fake.learner->Predict(2);

  const auto first = Next(fake.stream->ring(), cursor);
  EXPECT_EQ(first->frame_number, 1001);
  EXPECT_EQ(first->epoch, 3);
  EXPECT_LT(first->delay_frames, 4) << "frames of this process alone";
  const auto second = Next(fake.stream->ring(), cursor);
  EXPECT_EQ(second->frame_number, 1003);
  EXPECT_EQ(second->epoch, 4);
  EXPECT_EQ(fake.position(), (pipeline::SourcePosition{.frames = 1004, .epochs = 5}));
  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_EQ(snapshot.source.epoch, 4);
  EXPECT_EQ(snapshot.frames.received, 4U);
}

TEST(CameraStreamTest, EndsByItselfWhenTheSourceEnds) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  for (int i = 0; i < 4; ++i) fake.source->Push();
  EXPECT_FALSE(fake.stream->ended());
  std::atomic<bool> closed = false;
  auto listening = fake.stream->ring().Listen([&] {
    if (!fake.stream->ring().closed()) return;
    closed = true;
    closed.notify_all();
  });
  fake.source->End();  // The frames in the queue are learned from, not dropped.
  closed.wait(false);
  fake.stream->Stop();

  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_TRUE(fake.stream->ended());
  EXPECT_EQ(snapshot.frames.predicted, 3u);
  EXPECT_EQ(snapshot.frames.in_flight, 0u);
  EXPECT_EQ(snapshot.source.state, ingest::SourceState::kEnded);
}

TEST(CameraStreamTest, StopFinishesWhatTheLearnerHasAndDropsWhatWaits) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .learner = {.capacity = 1}});
  for (int i = 0; i < 5; ++i) fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  // Frame 1 is inside; the others wait in the queue until there is room for the next.
  std::jthread stopping([&] { fake.stream->Stop(); });
  while (!fake.stream->ring().closed() &&
         fake.source->status().state != ingest::SourceState::kStopped) {
    std::this_thread::yield();
  }
  fake.learner->Predict();
  stopping.join();
  fake.stream->Stop();

  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_FALSE(fake.stream->ended());
  EXPECT_TRUE(fake.stream->ring().closed());
  EXPECT_EQ(snapshot.frames.received, 5u);
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kNoPredecessor), 1u);
  EXPECT_EQ(snapshot.frames.predicted, 1u);
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kShutdown), 3u);
  EXPECT_EQ(snapshot.frames.in_flight, 0u);
  EXPECT_TRUE(snapshot.learner.ok());
}

// The learner has planned again: what its stages cost now decides how much is learned.
TEST(CameraStreamTest, FollowsThePlanOfALearnerThatPlannedAgain) {
  FakeStream fake = StartFakeStream({.schedule = "auto", .queue_capacity = 8});
  const auto film = [&](std::int64_t in_all) {
    fake.source->Push();
    fake.learner->WaitForAdmitted(in_all);
  };
  fake.source->Push();
  film(1);
  EXPECT_EQ(fake.stream->Snapshot().update_every, 1);
  EXPECT_EQ(fake.stream->learner()->rate_plan->switched, 0);
  fake.learner->Describe([](pipeline::LearnerDescription& learner) {
    learner.update_every = 4;
    learner.rate_plan = {.frames_per_second = 10, .switched = 1, .why = "stage 1 takes longer"};
  });
  film(2);
  EXPECT_EQ(fake.stream->Snapshot().update_every, 4);
  EXPECT_EQ(fake.stream->learner()->rate_plan->switched, 1);
  fake.stream->Stop();
  EXPECT_EQ(fake.stream->Snapshot().frames.predicted, 2U);
}

// A frame that were taken before there is room for it would grow old where no fresher one can
// replace it.
TEST(CameraStreamTest, TakesTheFreshestFrameOnceThereIsRoom) {
  FakeStream fake = StartFakeStream({.queue_capacity = 1, .learner = {.capacity = 1}});
  fake.source->Push();
  while (fake.source->queue().waiting() > 0) std::this_thread::yield();
  fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  for (int i = 0; i < 3; ++i) fake.source->Push();  // Frames 2 and 3 are pushed out.
  fake.learner->Predict();
  fake.learner->WaitForAdmitted(2);
  EXPECT_EQ(Dropped(fake.stream->Snapshot().frames, DropReason::kQueueFull), 2u);
  fake.learner->Predict();
  fake.stream->Stop();
  EXPECT_EQ(fake.stream->Snapshot().frames.predicted, 2u);
}

TEST(CameraStreamTest, FailedLearnerRejectsFramesAndSaysWhy) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  fake.source->Push();
  fake.source->Push();
  fake.source->Push();
  fake.learner->WaitForAdmitted(2);
  fake.learner->Fail(absl::InternalError("out of memory on cpu:1"));
  fake.source->Push();
  fake.source->Push();
  fake.source->End();
  fake.stream->Stop();

  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_THAT(snapshot.learner, Eq(absl::InternalError("stream 'street': out of memory on cpu:1")));
  EXPECT_EQ(snapshot.frames.received, 5u);
  EXPECT_EQ(snapshot.frames.predicted, 0u);
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kNoPredecessor), 1u);
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kRejected) +
                Dropped(snapshot.frames, DropReason::kShutdown),
            4u);
  EXPECT_GE(Dropped(snapshot.frames, DropReason::kRejected), 2u);
  EXPECT_EQ(snapshot.frames.in_flight, 0u);
}

void PushFrames(const FakeStream& fake, int frames) {
  for (int i = 0; i < frames; ++i) fake.source->Push();
}

// Waits until so many frames are dropped for the reason.
void AwaitDropped(const FakeStream& fake, DropReason reason, std::uint64_t frames) {
  while (Dropped(fake.stream->Snapshot().frames, reason) < frames) std::this_thread::yield();
}

TEST(CameraStreamTest, WhileHostsAreMissingFramesAreDroppedAndThenItGoesOn) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  PushFrames(fake, 3);
  fake.learner->WaitForAdmitted(2);
  fake.learner->Predict();
  EXPECT_EQ(Next(fake.stream->ring(), cursor)->frame_number, 1);
  fake.learner->SetRanks({.expected = 2, .joined = 1, .groups = 1, .lost = 1});
  fake.learner->Interrupt(absl::UnavailableError("waiting for 1 process: rank 1 is lost"));
  PushFrames(fake, 2);
  AwaitDropped(fake, DropReason::kRanksLost, 3);  // With the one that was under way.

  const StreamSnapshot waiting = fake.stream->Snapshot();
  EXPECT_EQ(waiting.learner_state, LearnerState::kWaitingForRanks);
  EXPECT_TRUE(waiting.learner.ok());
  EXPECT_EQ(LearnerCause(waiting), "waiting for 1 process: rank 1 is lost");
  EXPECT_EQ(waiting.ranks->joined, 1);
  EXPECT_EQ(waiting.frames.in_flight, 0u);
  EXPECT_TRUE(fake.stream->SetMode(LearnerState::kFrozen).ok());
  EXPECT_EQ(fake.stream->Snapshot().learner_state, LearnerState::kWaitingForRanks);
  absl::Status refused;
  fake.stream->WriteCheckpoint(
      {}, [&](const absl::StatusOr<std::string>& written) { refused = written.status(); });
  EXPECT_THAT(std::string(refused.message()), HasSubstr("waiting for 1 process"));

  fake.learner->Resume();
  fake.source->Push();
  fake.learner->WaitForAdmitted(3);
  fake.learner->Predict();
  EXPECT_EQ(Next(fake.stream->ring(), cursor)->frame_number, 5);
  EXPECT_EQ(fake.stream->Snapshot().learner_state, LearnerState::kFrozen);
  fake.stream->Stop();
  const FrameCounts frames = fake.stream->Snapshot().frames;
  EXPECT_EQ(frames.predicted, 2u);
  EXPECT_EQ(Dropped(frames, DropReason::kRanksLost), 3u);
  EXPECT_EQ(Dropped(frames, DropReason::kRejected), 0u);
  EXPECT_EQ(frames.received, frames.predicted + frames.dropped_in_all());
}

TEST(CameraStreamTest, RecordedFramesWaitForMissingHosts) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  fake.learner->Interrupt(absl::UnavailableError("waiting for 1 process"));
  PushFrames(fake, 4);
  fake.learner->WaitForRefusals(6);  // Without the wait, each frame takes two.
  EXPECT_EQ(fake.stream->Snapshot().learner_state, LearnerState::kWaitingForRanks);
  EXPECT_GE(fake.source->queue().waiting(), 3u) << "the first may have been taken before";
  fake.learner->Resume();
  fake.learner->WaitForAdmitted(3);
  EXPECT_LE(Dropped(fake.stream->Snapshot().frames, DropReason::kRanksLost), 1u);
  fake.learner->Predict(3);
  fake.stream->Stop();
}

TEST(CameraStreamTest, AStopWhileHostsAreMissingIsNoFailure) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8});
  PushFrames(fake, 3);
  fake.learner->WaitForAdmitted(2);
  fake.learner->Interrupt(absl::UnavailableError("waiting for 1 process"));
  fake.stream->Stop();
  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_TRUE(snapshot.learner.ok()) << snapshot.learner;
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kRanksLost), 2u);
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kRejected), 0u);
}

TEST(CameraStreamTest, FramesOfTheWrongSizeAreRejectedAndHarmNothing) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8, .live = false});
  PredictionRing::Cursor cursor = fake.stream->ring().Begin();
  fake.source->Push();
  fake.source->Resize(8, 8);
  fake.source->Push();
  fake.source->Resize(4, 2);
  fake.source->Push();
  fake.learner->Predict();

  EXPECT_EQ(Next(fake.stream->ring(), cursor)->frame_number, 2);
  const StreamSnapshot snapshot = fake.stream->Snapshot();
  EXPECT_EQ(Dropped(snapshot.frames, DropReason::kRejected), 1u);
  EXPECT_TRUE(snapshot.learner.ok());
}

TEST(CameraStreamTest, SlowReaderNeverHoldsTheLearner) {
  FakeStream fake = StartFakeStream({.queue_capacity = 8,
                                     .live = false,
                                     .learner = {.predicts = FakeLearner::Predicts::kAtOnce}});
  PredictionRing::Cursor never_read = fake.stream->ring().Begin();
  for (int i = 0; i < 101; ++i) fake.source->Push();
  fake.source->End();
  while (!fake.stream->ring().closed()) std::this_thread::yield();

  EXPECT_EQ(fake.stream->Snapshot().frames.predicted, 100u);
  EXPECT_EQ(fake.stream->ring().Read(never_read, ReadPolicy{.depth = 1000}).missed, 84u);
}

TEST(CameraStreamTest, StartNamesTheStreamThatFailed) {
  CameraStream::Options options;
  options.config.name = "yard";
  options.make_learner =
      [](const StreamConfig&, pipeline::OnPrediction call,
         const pipeline::LearnerHooks&) -> absl::StatusOr<std::unique_ptr<pipeline::Learner>> {
    return std::make_unique<FakeLearner>(FakeLearner::Options{}, std::move(call));
  };
  options.open_source =
      [](const ingest::SourceOptions&) -> absl::StatusOr<std::unique_ptr<ingest::Source>> {
    return absl::NotFoundError("street.avi: no such file");
  };
  EXPECT_THAT(CameraStream::Start(std::move(options)).status(),
              Eq(absl::NotFoundError("stream 'yard': street.avi: no such file")));
}

}  // namespace
}  // namespace millrace::service
