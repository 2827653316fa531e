// A real gRPC server on a free port, over a stream of pushed frames whose network the test is.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "ingest/inputs/open_source.h"
#include "service/server/grpc_server.h"
#include "tests/service/support/fake_learner.h"

namespace millrace::service {

/// Adds a stream on demand. The destructor ends the server first.
class FrameServiceTest : public testing::Test {
 protected:
  FrameServiceTest() : FrameServiceTest(GrpcServer::Options()) {}
  explicit FrameServiceTest(const GrpcServer::Options& options) {
    auto server = GrpcServer::Start(options, Api());
    MILLRACE_CHECK(server.ok());
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                   grpc::InsecureChannelCredentials());
  }

  /// Adds a stream "door", whose network is `learner_`.
  void AddStream(FakeLearner::Options learner = {.predicts = FakeLearner::Predicts::kAtOnce},
                 ingest::SourceOptions source = {.uri = "push:"}) {
    source.width = learner.width;
    source.height = learner.height;
    StreamConfig config;
    config.name = "door";
    config.source = source;
    learner_options_ = std::move(learner);
    MILLRACE_CHECK(changes_.Create(config).ok());
  }

  [[nodiscard]] StreamApi Api() {
    return {.streams = &streams_,
            .events = &events_,
            .changes = &changes_,
            .liveness = &liveness_,
            .rules = &rules_,
            .calls = &calls_};
  }

  [[nodiscard]] CameraStream& stream() { return *(*streams_.Find("door"))->stream; }
  [[nodiscard]] FrameCounts Counts() { return stream().Snapshot().frames; }

  FakeLearner::Options learner_options_;
  FakeLearner* learner_ = nullptr;
  StreamEventLog events_;
  StreamRegistry streams_;
  StreamChanges changes_{{.streams = &streams_,
                          .events = &events_,
                          .start = [this](const StreamConfig& config,
                                          const std::stop_token&) { return Start(config); },
                          .max_streams = 4}};
  FakeClock liveness_clock_;
  Liveness liveness_{streams_, liveness_clock_};
  ClientRules rules_;
  CallCounts calls_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;

 private:
  absl::StatusOr<SharedStream> Start(const StreamConfig& config) {
    CameraStream::Options options;
    options.config = config;
    options.open_source = [](const ingest::SourceOptions& source) {
      return ingest::OpenSource(source);
    };
    options.make_learner =
        [this](
            const StreamConfig&, pipeline::OnPrediction call,
            const pipeline::LearnerHooks&) -> absl::StatusOr<std::unique_ptr<pipeline::Learner>> {
      auto learner = std::make_unique<FakeLearner>(learner_options_, std::move(call));
      learner_ = learner.get();
      return learner;
    };
    auto stream = CameraStream::Start(std::move(options));
    if (!stream.ok()) return stream.status();
    auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
    return std::make_shared<ServedStream>(std::move(record), *std::move(stream));
  }
};

}  // namespace millrace::service
