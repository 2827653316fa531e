// The list of a stream's checkpoints, and a requested checkpoint.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/checkpoint/checkpoint_folders.h"
#include "tests/service/support/checkpoint_calls.h"
#include "tests/service/support/error_details.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(CheckpointServiceTest, ListsWhatIsCompleteNewestFirst) {
  Write(99, 0.75);
  const std::string newest = Write(199);
  fs::create_directories(folder_ / pipeline::CheckpointName(299));  // It was never finished.
  EXPECT_THAT(Names(), ElementsAre(newest, "checkpoint-000000000099"));
  const v1::Checkpoint& oldest = list_.checkpoints(1);
  EXPECT_EQ(oldest.stream(), "street");
  EXPECT_EQ(oldest.sample(), 99);
  EXPECT_EQ(oldest.score(), 0.75);
  EXPECT_EQ(oldest.bytes(), 3'000'000u);
  EXPECT_FALSE(oldest.kept());
  EXPECT_GT(oldest.create_time().seconds(), 1'600'000'000);
}

/// The result of an asynchronous call.
struct Asked {
  grpc::ClientContext context;
  v1::CreateCheckpointRequest request;
  v1::CreateCheckpointResponse response;
  std::promise<grpc::Status> done;
};

/// Calls that wait, any number of them.
class WaitingForCheckpointsTest : public CheckpointServiceTest {
 protected:
  /// Asks for a checkpoint, and returns once the learner has been asked.
  std::future<grpc::Status> Ask() {
    asked_.push_back(std::make_unique<Asked>());
    Asked& call = *asked_.back();
    const int before = street_.learner->checkpoints_asked_for;
    call.request.set_stream("street");
    stub_->async()->CreateCheckpoint(
        &call.context, &call.request, &call.response,
        [&call](const grpc::Status& status) { call.done.set_value(status); });
    while (street_.learner->checkpoints_asked_for == before) std::this_thread::yield();
    return call.done.get_future();
  }

  void SayWritten(const std::string& name, std::int64_t answers) {
    street_.on_checkpoint({.name = name, .answers = answers});
  }

  std::vector<std::unique_ptr<Asked>> asked_;
};

TEST_F(WaitingForCheckpointsTest, OneThatWasAskedForComesWhenItIsWritten) {
  std::future<grpc::Status> call = Ask();
  const std::string name = Write(199);
  ASSERT_TRUE(pipeline::Keep(folder_ / name).ok());  // As the learner does.
  SayWritten(name, 1);
  ASSERT_TRUE(call.get().ok());
  EXPECT_EQ(asked_[0]->response.checkpoint().name(), "checkpoint-000000000199");
  EXPECT_TRUE(asked_[0]->response.checkpoint().kept());
}

TEST_F(WaitingForCheckpointsTest, OneWhoWaitsKeepsNobodyElseWaiting) {
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(Ask());  // Each was asked for: none waits for another.
  }
  asked_[7]->context.TryCancel();
  EXPECT_EQ(calls[7].get().error_code(), grpc::StatusCode::CANCELLED);
  const std::string name = Write(199);
  SayWritten(name, 20);
  for (int i = 0; i < 20; ++i) {
    if (i != 7) {
      EXPECT_TRUE(calls[i].get().ok());
    }
  }
}

TEST_F(WaitingForCheckpointsTest, OneTooManyIsToldToTryAgain) {
  constexpr int kMayWait = 64;
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < kMayWait; ++i) calls.push_back(Ask());
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_CHANGES");
  EXPECT_TRUE(DetailsOf(status).has_retry);
  SayWritten(Write(199), kMayWait);
  for (auto& call : calls) EXPECT_TRUE(call.get().ok());
}

TEST_F(WaitingForCheckpointsTest, WhyNoneCouldBeWrittenIsTold) {
  std::future<grpc::Status> call = Ask();
  street_.on_checkpoint(
      {.status = absl::ResourceExhaustedError("no space left on the disk"), .answers = 1});
  const grpc::Status status = call.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "no space left on the disk");
}

TEST_F(WaitingForCheckpointsTest, WhoWaitsIsToldWhenTheStreamEndsOrTimeIsUp) {
  EXPECT_EQ(Create("street", std::chrono::seconds(1)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  std::future<grpc::Status> call = Ask();
  ASSERT_TRUE(changes_.Delete({.name = "street"}).ok());
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(WaitingForCheckpointsTest, WhoWaitsIsToldThatTheLearnerWasPaused) {
  for (const LearnerState mode : {LearnerState::kPaused, LearnerState::kFrozen}) {
    std::future<grpc::Status> call = Ask();
    ASSERT_TRUE(street().SetMode(mode).ok());
    const grpc::Status status = call.get();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(status), "NOT_LEARNING");
    EXPECT_EQ(DetailsOf(status).info.metadata().at("state"), Name(mode));
    EXPECT_THAT(status.error_message(), HasSubstr("resume it first"));
    ASSERT_TRUE(street().SetMode(LearnerState::kLearning).ok());
  }
}

// The stream itself lives on: its camera is watched, and somebody may reset it.
TEST_F(WaitingForCheckpointsTest, WhoWaitsIsToldThatTheLearnerHasFailed) {
  std::future<grpc::Status> call = Ask();
  street_.learner->Fail(absl::InternalError("out of memory"));
  street_.source->Push();
  street_.source->Push();
  for (const grpc::Status& status : {call.get(), Create()}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(status), "LEARNER_FAILED");
    EXPECT_THAT(status.error_message(), HasSubstr("out of memory"));
  }
}

TEST_F(WaitingForCheckpointsTest, OneThatIsGoneAgainIsNotFound) {
  std::future<grpc::Status> call = Ask();
  SayWritten(pipeline::CheckpointName(199), 1);
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CheckpointServiceTest, APausedLearnerProvesNoWeights) {
  ASSERT_TRUE(street().SetMode(LearnerState::kPaused).ok());
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("the learner is paused"));
}

TEST_F(CheckpointServiceTest, AStreamThatHasEndedWritesNone) {
  street_.source->End();
  while (!street().ended()) std::this_thread::yield();
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "STREAM_ENDED");
  EXPECT_EQ(DetailsOf(status).info.metadata().at("stream"), "street");
}

TEST_F(CheckpointServiceTest, WhatIsNotThereOrNotNamedIsSaid) {
  std::map<std::string, std::string> files;
  for (const auto& [status, code] : std::vector<std::pair<grpc::Status, grpc::StatusCode>>{
           {Restore("checkpoint-1"), grpc::StatusCode::NOT_FOUND},
           {Restore("../street"), grpc::StatusCode::NOT_FOUND},
           {Delete("..", "street"), grpc::StatusCode::NOT_FOUND},
           {Download("checkpoint-1", files), grpc::StatusCode::NOT_FOUND},
           {Create("gate"), grpc::StatusCode::NOT_FOUND},
           {List("gate"), grpc::StatusCode::NOT_FOUND},
           {Restore("x", "gate"), grpc::StatusCode::NOT_FOUND},
           {Delete("x", "gate"), grpc::StatusCode::NOT_FOUND},
           {Download("x", files, "gate"), grpc::StatusCode::NOT_FOUND},
           {Restore(""), grpc::StatusCode::INVALID_ARGUMENT},
           {Restore("x", ""), grpc::StatusCode::INVALID_ARGUMENT},
           {Delete("x", ""), grpc::StatusCode::INVALID_ARGUMENT},
           {Download("", files), grpc::StatusCode::INVALID_ARGUMENT},
           {Create("yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {List("yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Restore("x", "yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Delete("x", "yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Download("x", files, "yard"), grpc::StatusCode::FAILED_PRECONDITION}}) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
  }
  EXPECT_TRUE(files.empty());
}

}  // namespace
}  // namespace millrace::service
