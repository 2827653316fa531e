// The outcomes of frames that a client pushes, with a real server and real streams. The test plays
// the network.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "millrace/v1/frame_service.pb.h"
#include "tests/service/support/balanced.h"
#include "tests/service/support/fake_learner.h"
#include "tests/service/support/frame_fixture.h"
#include "tests/service/support/push_client.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// The outcome of the frame `id`: what is dropped may overtake what is predicted.
v1::PushResponse Of(const std::string& id, const std::vector<v1::PushResponse>& responses) {
  const auto found = std::ranges::find(responses, id, &v1::PushResponse::id);
  return found != responses.end() ? *found : v1::PushResponse();
}

TEST_F(FrameServiceTest, EachFrameGetsOneOutcome) {
  AddStream();
  PushClient client(channel_);
  client.Begin("door");
  for (int i = 0; i < 5; ++i) client.Push(absl::StrCat("f", i));
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre("f0 DROP_REASON_NO_PREDECESSOR", "f1 predicted 1", "f2 predicted 2",
                          "f3 predicted 3", "f4 predicted 4"));
  EXPECT_TRUE(client.End().ok());
  const FrameCounts counts = Counts();
  EXPECT_EQ(counts.received, 5u);
  EXPECT_EQ(counts.predicted, 4u);
  EXPECT_TRUE(Balanced(counts));
}

TEST_F(FrameServiceTest, AHalfClosedCallWaitsForWhatIsDue) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  PushClient client(channel_);
  client.Begin("door");
  for (const char* id : {"a", "b", "c"}) client.Push(id);
  client.Done();
  EXPECT_EQ(Said(client.Read()), "a DROP_REASON_NO_PREDECESSOR");
  learner_->Predict(2);
  EXPECT_THAT(Said(client.ReadAll()), ElementsAre("b predicted 1", "c predicted 2"));
  EXPECT_TRUE(client.End().ok());
}

TEST_F(FrameServiceTest, WhatIsNoPictureIsRefusedAndTheCallGoesOn) {
  AddStream();
  PushClient client(channel_);
  client.Begin("door");
  v1::PushRequest cut = PushClient::Frame("cut", kFrameWidth, kFrameHeight);
  cut.mutable_frame()->mutable_raw()->mutable_data()->pop_back();
  client.Write(cut);
  v1::PushRequest none;
  none.mutable_frame()->set_id("none");
  client.Write(none);
  v1::PushRequest no_image;
  no_image.mutable_frame()->set_id("text");
  no_image.mutable_frame()->set_image("hello");
  client.Write(no_image);
  v1::PushRequest no_format = PushClient::Frame("form", kFrameWidth, kFrameHeight);
  no_format.mutable_frame()->mutable_raw()->clear_format();
  client.Write(no_format);
  v1::PushRequest labelled = PushClient::Frame("label", kFrameWidth, kFrameHeight);
  labelled.mutable_frame()->mutable_label()->set_class_number(1);
  client.Write(labelled);
  client.Write(PushClient::Frame("time", kFrameWidth, kFrameHeight, 1LL << 62));
  client.Push("good");
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre(HasSubstr("cut refused: the picture has 23 bytes"),
                          HasSubstr("none refused: there is no picture: set raw or image"),
                          HasSubstr("text refused: this is neither a JPEG nor a PNG image"),
                          HasSubstr("form refused: raw.format is 0"),
                          HasSubstr("label refused: stream 'door' learns without labels"),
                          HasSubstr("time refused: capture_time must be a time from 1970"),
                          "good DROP_REASON_NO_PREDECESSOR"));
  EXPECT_EQ(Counts().received, 1u);
}

TEST_F(FrameServiceTest, AFrameOfAnotherSizeIsScaledAndBeginsAnEpoch) {
  AddStream();
  PushClient client(channel_);
  client.Begin("door");
  client.Write(PushClient::Frame("a", 8, 6));
  client.Write(PushClient::Frame("b", 8, 6));
  std::vector<v1::PushResponse> outcomes = {client.Read(), client.Read()};
  client.Write(PushClient::Frame("c", 16, 12));
  outcomes.push_back(client.Read());
  EXPECT_THAT(Said(outcomes), UnorderedElementsAre("a DROP_REASON_NO_PREDECESSOR", "b predicted 1",
                                                   "c DROP_REASON_NO_PREDECESSOR"));
  EXPECT_EQ(Of("b", outcomes).prediction().camera().height(), 6);
}

TEST_F(FrameServiceTest, TimesOfCaptureTellGapsAndComeBack) {
  AddStream();
  PushClient client(channel_);
  client.Begin("door");
  for (const int second : {100, 101, 102, 103, 104, 110, 111}) {
    client.Push(absl::StrCat(second), second);
  }
  client.Push("timeless");
  client.Done();
  const std::vector<v1::PushResponse> outcomes = client.ReadAll();
  EXPECT_THAT(Said(outcomes),
              UnorderedElementsAre("100 DROP_REASON_NO_PREDECESSOR", "101 predicted 1",
                                   "102 predicted 2", "103 predicted 3", "104 predicted 4",
                                   "110 DROP_REASON_GAP", "111 predicted 6",
                                   HasSubstr("timeless refused: only one of the first picture")));
  EXPECT_EQ(Of("101", outcomes).prediction().camera_time().seconds(), 101);
  EXPECT_EQ(Of("110", outcomes).frame_number(), 5);
}

TEST_F(FrameServiceTest, ASlowModelHoldsTheClientBackAndLosesNothing) {
  AddStream({.capacity = 1, .predicts = FakeLearner::Predicts::kWhenTold},
            {.uri = "push:", .queue_capacity = 1});
  PushClient client(channel_);
  client.Begin("door");
  constexpr int kFrames = 50;
  std::jthread pushing([&] {
    for (int i = 0; i < kFrames; ++i) client.Push(absl::StrCat(i));
    client.Done();
  });
  auto outcomes = std::async(std::launch::async, [&] { return client.ReadAll(); });
  learner_->Predict(kFrames - 1);
  EXPECT_EQ(outcomes.get().size(), std::size_t{kFrames});
  EXPECT_TRUE(client.End().ok());
  EXPECT_EQ(Counts().predicted, std::uint64_t{kFrames - 1});
}

TEST_F(FrameServiceTest, AsACameraTheModelIsNotWaitedForAndWhatIsDroppedIsTold) {
  AddStream({.capacity = 1, .predicts = FakeLearner::Predicts::kWhenTold},
            {.uri = "push:", .as_camera = true, .queue_capacity = 1});
  PushClient client(channel_);
  client.Begin("door");
  client.Push("first");
  EXPECT_EQ(Said(client.Read()), "first DROP_REASON_NO_PREDECESSOR");
  client.Push("held");
  learner_->WaitForAdmitted(1);
  for (const char* id : {"a", "b", "c"}) client.Push(id);
  // The learner's room is taken, and the queue keeps the freshest.
  EXPECT_EQ(Said(client.Read()), "a DROP_REASON_QUEUE_FULL");
  EXPECT_EQ(Said(client.Read()), "b DROP_REASON_QUEUE_FULL");
  client.Done();
  learner_->Predict(2);
  EXPECT_THAT(Said(client.ReadAll()), ElementsAre("held predicted 1", "c predicted 4"));
  EXPECT_EQ(Counts().dropped[static_cast<int>(DropReason::kQueueFull)], 2u);
}

TEST_F(FrameServiceTest, WhereThereAreTooManyASecondTheyAreSkipped) {
  AddStream({.predicts = FakeLearner::Predicts::kAtOnce},
            {.uri = "push:", .max_frames_per_second = 1});
  PushClient client(channel_);
  client.Begin("door");
  std::vector<std::string> said;
  for (int i = 0; i < 4; ++i) {
    v1::PushRequest request =
        PushClient::Frame(absl::StrCat(i), kFrameWidth, kFrameHeight, 100 + i / 2);
    request.mutable_frame()->mutable_capture_time()->set_nanos(i % 2 * 500'000'000);
    client.Write(request);
    said.push_back(Said(client.Read()));
  }
  EXPECT_THAT(
      said, ElementsAre("0 DROP_REASON_NO_PREDECESSOR", "1 skipped", "2 predicted 1", "3 skipped"));
  EXPECT_EQ(Counts().received, 2u);
}

TEST_F(FrameServiceTest, AFailedModelRejectsWhatIsPushed) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  PushClient client(channel_);
  client.Begin("door");
  for (const char* id : {"a", "b"}) client.Push(id);
  EXPECT_EQ(Said(client.Read()), "a DROP_REASON_NO_PREDECESSOR");
  learner_->WaitForAdmitted(1);
  learner_->Fail(absl::InternalError("broken"));
  client.Push("c");
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre("b DROP_REASON_REJECTED", "c DROP_REASON_REJECTED"));
  EXPECT_TRUE(Balanced(Counts()));
}

TEST_F(FrameServiceTest, ALabelComesWithItsFrame) {
  pipeline::LabelledTask task;
  task.outputs = 2;
  task.window = 4;
  AddStream({.predicts = FakeLearner::Predicts::kAtOnce, .labels = task});
  PushClient client(channel_);
  client.Begin("door");
  for (const int number : {1, 7}) {
    v1::PushRequest request = PushClient::Frame(absl::StrCat(number), kFrameWidth, kFrameHeight);
    request.mutable_frame()->mutable_label()->set_class_number(number);
    client.Write(request);
  }
  client.Push("bare");
  client.Done();
  const std::vector<v1::PushResponse> outcomes = client.ReadAll();
  EXPECT_THAT(Said(outcomes), ElementsAre("1 predicted 0", "7 predicted 1", "bare predicted 2"));
  EXPECT_EQ(outcomes[0].label().result(), v1::LABEL_RESULT_ADDED);
  EXPECT_EQ(outcomes[0].prediction().labelled(), 1);
  EXPECT_EQ(outcomes[1].label().result(), v1::LABEL_RESULT_INVALID);
  EXPECT_EQ(outcomes[1].label().frame_number(), 1);
  EXPECT_FALSE(outcomes[2].has_label());
}

TEST_F(FrameServiceTest, AnIdThatIsTooLongAndALabelOfAnotherFrameAreRefused) {
  pipeline::LabelledTask task;
  task.outputs = 2;
  task.window = 4;
  AddStream({.predicts = FakeLearner::Predicts::kAtOnce, .labels = task});
  PushClient client(channel_);
  client.Begin("door");
  client.Push(std::string(257, 'i'));
  v1::PushRequest other = PushClient::Frame("other", kFrameWidth, kFrameHeight);
  other.mutable_frame()->mutable_label()->set_frame_number(3);
  other.mutable_frame()->mutable_label()->set_class_number(1);
  client.Write(other);
  client.Push(std::string(256, 'i'));
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre(HasSubstr("i refused: the id has 257 bytes; it may have 256"),
                          HasSubstr("other refused: label.frame_number is set; leave it out"),
                          HasSubstr("i predicted 0")));
  EXPECT_TRUE(client.End().ok());
}

}  // namespace
}  // namespace millrace::service
