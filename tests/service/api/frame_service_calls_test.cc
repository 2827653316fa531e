// The calls that push frames: which client gets a stream, and how a call ends.
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "millrace/v1/frame_service.pb.h"
#include "tests/service/support/balanced.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/fake_learner.h"
#include "tests/service/support/frame_fixture.h"
#include "tests/service/support/own_connection.h"
#include "tests/service/support/push_client.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Checks every two milliseconds until `done`, without a limit but the test's own timeout.
void WaitUntil(const std::function<bool()>& done) {
  while (!done()) poll(nullptr, 0, 2);
}

TEST_F(FrameServiceTest, OnePushesAtATimeAndTheNextGoesOn) {
  AddStream();
  {
    PushClient first(channel_);
    first.Begin("door");
    PushClient second(channel_);
    second.Begin("door");
    const grpc::Status refused = second.End();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(refused), "ALREADY_PUSHED");
    EXPECT_THAT(refused.error_message(), HasSubstr("another client pushes frames already"));
    first.Push("a");
    EXPECT_EQ(Said(first.Read()), "a DROP_REASON_NO_PREDECESSOR");
    EXPECT_EQ(stream().Snapshot().source.state, ingest::SourceState::kStreaming);
    first.Done();
    EXPECT_TRUE(first.End().ok());
  }
  const ingest::SourceStatus away = stream().Snapshot().source;
  EXPECT_EQ(away.state, ingest::SourceState::kWaiting);
  EXPECT_THAT(std::string(away.cause.message()), HasSubstr("no client pushes frames"));
  PushClient next(channel_);
  next.Begin("door");
  next.Push("b");
  next.Push("c");
  next.Done();
  const std::vector<v1::PushResponse> outcomes = next.ReadAll();
  EXPECT_THAT(Said(outcomes), ElementsAre("b DROP_REASON_NO_PREDECESSOR", "c predicted 2"));
  EXPECT_EQ(outcomes.back().prediction().epoch(), 1);
}

TEST_F(FrameServiceTest, OnlyAStreamOfPushedFramesTakesThem) {
  AddStream({}, {.uri = "test:"});
  const auto end_of = [&](const std::string& stream) {
    PushClient client(channel_);
    client.Begin(stream);
    return client.End();
  };
  const grpc::Status camera = end_of("door");
  EXPECT_EQ(camera.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(camera), "NOT_PUSHED");
  EXPECT_THAT(camera.error_message(), HasSubstr("whose source.uri is push:"));
  EXPECT_EQ(end_of("nowhere").error_code(), grpc::StatusCode::NOT_FOUND);
  PushClient silent(channel_);
  silent.Done();
  EXPECT_TRUE(silent.End().ok());
}

TEST_F(FrameServiceTest, ACancelledCallLeavesItsPlace) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  {
    PushClient first(channel_);
    first.Begin("door");
    first.Push("a");
    first.Push("b");
    learner_->WaitForAdmitted(1);
    first.Cancel();
    EXPECT_EQ(first.End().error_code(), grpc::StatusCode::CANCELLED);
  }
  WaitUntil([&] { return stream().Snapshot().source.state == ingest::SourceState::kWaiting; });
  learner_->Predict();
  WaitUntil([&] { return Counts().predicted == 1; });
  PushClient second(channel_);
  second.Begin("door");
  second.Push("c");
  EXPECT_EQ(Said(second.Read()), "c DROP_REASON_NO_PREDECESSOR");
}

/// Calls with a deadline.
class FrameDeadlineTest : public FrameServiceTest {
 protected:
  /// Pushes two frames to its own stream, and lets the deadline pass. Returns whether both had come
  /// by then, and the first, "a", had got its outcome.
  bool PushTwo(std::chrono::seconds limit) {
    if (streams_.Find("door").ok()) MILLRACE_CHECK(changes_.Delete({.name = "door"}).ok());
    AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
    PushClient client(channel_, std::chrono::system_clock::now() + limit);
    client.Begin("door");
    client.Push("a");
    client.Push("b");
    said_ = Said(client.ReadAll());
    EXPECT_EQ(client.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    if (said_.empty()) return false;
    // The call has had its place, and when that is free again no frame comes any more.
    WaitUntil([&] { return stream().Snapshot().source.state == ingest::SourceState::kWaiting; });
    return Counts().received == 2;
  }

  std::vector<std::string> said_;
};

TEST_F(FrameDeadlineTest, ACallWhoseDeadlinePassesTakesNothingBack) {
  // As much time as this machine takes for it.
  for (std::chrono::seconds limit(1); !PushTwo(limit); limit *= 2) continue;
  EXPECT_THAT(said_, ElementsAre("a DROP_REASON_NO_PREDECESSOR"));
  learner_->Predict();
  WaitUntil([&] { return Counts().predicted == 1; });
  EXPECT_TRUE(Balanced(Counts()));
}

TEST_F(FrameServiceTest, AStreamThatIsDeletedTellsWhatIsDueAndEndsTheCall) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  PushClient client(channel_);
  client.Begin("door");
  for (const char* id : {"a", "b"}) client.Push(id);
  learner_->WaitForAdmitted(1);
  ASSERT_TRUE(changes_.Delete({.name = "door"}).ok());
  EXPECT_THAT(Said(client.ReadAll()), ElementsAre("a DROP_REASON_NO_PREDECESSOR", "b predicted 1"));
  const grpc::Status end = client.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(end), "SOURCE_GONE");
  EXPECT_THAT(end.error_message(), HasSubstr("stream 'door' takes no more frames"));
}

TEST_F(FrameServiceTest, AFrameThatIsTooLargeIsToldTheLimit) {
  AddStream();
  PushClient client(channel_);
  client.Begin("door");
  client.Write(PushClient::Frame("huge", 4096, 4096));
  EXPECT_THAT(client.ReadAll(), testing::IsEmpty());
  const grpc::Status end = client.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(end.error_message(), HasSubstr("33554432"));
}

TEST_F(FrameServiceTest, TheServerEndsACallThatIsIdle) {
  AddStream();
  PushClient client(channel_);
  client.Begin("door");
  streams_.Stop();
  EXPECT_THAT(client.ReadAll(), testing::IsEmpty());
  EXPECT_EQ(client.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Outcomes of 0.6 MB each: they soon fill the connection of a client that does not read.
class ImpatientFrameServiceTest : public FrameServiceTest {
 protected:
  ImpatientFrameServiceTest() : FrameServiceTest({.stall_limit = std::chrono::milliseconds(200)}) {}
};

TEST_F(ImpatientFrameServiceTest, AClientThatReadsNothingIsCutOffAndItsPlaceIsFree) {
  AddStream({.width = 320, .height = 240, .predicts = FakeLearner::Predicts::kAtOnce});
  PushClient silent(OwnConnection(server_->port()));
  silent.Begin("door");
  while (silent.Push("unread")) continue;  // Until the call is over.
  PushClient next(channel_);
  next.Begin("door");
  next.Push("read");
  EXPECT_EQ(next.Read().id(), "read");
}

TEST_F(ImpatientFrameServiceTest, OneThatReadsOnFindsWhyItWasLetGo) {
  AddStream({.width = 320, .height = 240, .predicts = FakeLearner::Predicts::kAtOnce});
  PushClient silent(OwnConnection(server_->port()));
  silent.Begin("door");
  std::jthread pushing([&] {
    while (silent.Push("unread")) continue;
  });
  // Its place is free again.
  WaitUntil([&] {
    return Counts().received > 1 &&
           stream().Snapshot().source.state == ingest::SourceState::kWaiting;
  });
  silent.ReadAll();
  pushing.join();
  const grpc::Status end = silent.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(end), "SLOW_SUBSCRIBER");
  EXPECT_EQ(DetailsOf(end).info.metadata().at("stream"), "door");
  EXPECT_THAT(end.error_message(), HasSubstr("this client took nothing for 0.2 s"));
}

}  // namespace
}  // namespace millrace::service
