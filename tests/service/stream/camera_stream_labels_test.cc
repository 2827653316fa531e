// The labels that a camera stream takes for its frames.
#include <cstdint>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "service/stream/camera_stream.h"
#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

TEST(CameraStreamLabelsTest, EveryFrameIsASampleTheFirstOfAnEpochToo) {
  FakeStream fake = StartFakeStream(
      {.queue_capacity = 8, .live = false, .learner = {.labels = {{.outputs = 2, .window = 4}}}});
  fake.source->Push();
  fake.source->Push(ingest::NoPredecessor::kGap);
  fake.source->Reconnect();
  fake.source->Push();
  fake.learner->Predict(3);
  EXPECT_EQ(fake.stream->Snapshot().frames.predicted, 3u);
  EXPECT_EQ(fake.stream->ring().Newest()->previous, nullptr);
}

// A frame waits in the queue, is inside the learner, or is predicted: it can be labelled all the
// same, and each label teaches.
TEST(CameraStreamLabelsTest, AFrameCanBeLabelledWhereverItIs) {
  FakeStream fake =
      StartFakeStream({.queue_capacity = 8,
                       .live = false,
                       .learner = {.capacity = 1, .labels = {{.outputs = 2, .window = 4}}}});
  CameraStream& stream = *fake.stream;
  for (int i = 0; i < 4; ++i) fake.source->Push();
  fake.learner->Predict();
  fake.learner->WaitForAdmitted(2);
  EXPECT_TRUE(stream.Label(0, std::int64_t{0}).ok());
  EXPECT_TRUE(stream.Label(1, std::int64_t{0}).ok());
  EXPECT_TRUE(stream.Label(3, std::int64_t{1}).ok());
  EXPECT_EQ(stream.Label(4, std::int64_t{1}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(stream.Label(3, std::int64_t{0}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(stream.Label(2, std::int64_t{2}).code(), absl::StatusCode::kInvalidArgument);
  fake.learner->Predict(3);
  EXPECT_EQ(stream.ring().Newest()->model.labelled, 3);
  const LabelCounts counts = stream.Snapshot().labels.value_or(LabelCounts());
  EXPECT_EQ(counts.scored, 3u);
  EXPECT_EQ(counts.right, 2u);  // Of sample n the class is n modulo 2.
}

TEST(CameraStreamTest, AFrameOfTheProcessBeforeIsTooLateForALabel) {
  FakeStream fake =
      StartFakeStream({.queue_capacity = 8,
                       .live = false,
                       .learner = {.labels = pipeline::LabelledTask{.outputs = 3, .window = 2},
                                   .resumption = {.position = {.frames = 1000, .epochs = 1}}}});
  fake.source->Push();
  fake.learner->WaitForAdmitted(1);
  EXPECT_TRUE(absl::IsOutOfRange(fake.stream->Label(999, std::int64_t{1})));
  EXPECT_TRUE(absl::IsOutOfRange(fake.stream->Label(0, std::int64_t{1})));
  EXPECT_TRUE(fake.stream->Label(1000, std::int64_t{1}).ok());
  EXPECT_TRUE(absl::IsNotFound(fake.stream->Label(1001, std::int64_t{1})));
}

TEST(CameraStreamLabelsTest, AStreamThatLearnsWithoutTakesNone) {
  FakeStream fake = StartFakeStream();
  EXPECT_EQ(fake.stream->TakesLabels().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(fake.stream->Label(0, std::int64_t{0}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(fake.stream->Snapshot().labels.has_value());
}

}  // namespace
}  // namespace millrace::service
