// A real gRPC server on a free port, over streams whose camera and network the test is.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/status.h"
#include "service/registry/budget_gate.h"
#include "service/server/grpc_server.h"
#include "tests/service/support/fake_stream.h"
#include "tests/service/support/own_connection.h"

namespace millrace::service {

/// Serves the streams "street" and "yard", and starts more on request. The destructor shuts the
/// server down first.
class GrpcFixture : public testing::Test {
 protected:
  GrpcFixture() : GrpcFixture(FakeStreamOptions()) {}
  explicit GrpcFixture(FakeStreamOptions options, const GrpcServer::Options& server = {})
      : options_(std::move(options)) {
    options_.live = false;  // No frame is lost by accident.
    options_.queue_capacity = 64;
    for (const char* name : {"street", "yard"}) {
      const auto config =
          ParseStreamEntry(absl::StrCat(R"({"name":")", name,
                                        R"(","source":{"uri":"rtsp://user:secret@camera/1"}})"),
                           "config", StreamConfig());
      MILLRACE_CHECK(config.ok() && changes_.Create(*config).ok());
    }
    GrpcServer::Options counted = server;
    counted.counts = &counts_;
    auto started = GrpcServer::Start(counted, Api());
    MILLRACE_CHECK(started.ok());
    server_ = *std::move(started);
    channel_ = NewChannel();
  }

  [[nodiscard]] StreamApi Api() {
    return {.streams = &streams_,
            .events = &events_,
            .changes = &changes_,
            .liveness = &liveness_,
            .rules = &rules_,
            .calls = &calls_};
  }

  /// Of its own connection: tests must not share one connection's flow control.
  [[nodiscard]] std::shared_ptr<grpc::Channel> NewChannel() const {
    return OwnConnection(server_->port());
  }

  [[nodiscard]] SharedStream Served(const std::string& name) const { return *streams_.Find(name); }
  CameraStream& street() { return *Served("street")->stream; }
  [[nodiscard]] SubscriberCounts subscribers() const {
    return Served("street")->subscribers.Read();
  }

  /// The camera `fake` takes `frames` pictures, and each but the first of all is predicted.
  static void Film(FakeStream& fake, int frames) {
    for (int i = 0; i < frames; ++i) {
      const bool first = fake.source->queue().received() == 0;
      fake.source->Push();
      if (!first) fake.learner->Predict();
    }
  }

  /// The next start, and none after it, goes on until its call is cancelled.
  void StartUntilCancelled() {
    starting_ = [this](const StreamConfig& /*config*/,
                       const std::stop_token& stop) -> absl::Status {
      const MutexLock lock(start_mu_);
      if (std::exchange(start_begun_, true)) return absl::OkStatus();
      const std::stop_callback wake(stop, [this] { start_changed_.notify_all(); });
      start_changed_.notify_all();
      // Asked again now and then: the callback may come between asking and waiting.
      while (!stop.stop_requested()) {
        start_changed_.wait_for(start_mu_, std::chrono::milliseconds(10));
      }
      return absl::CancelledError("given up");
    };
  }
  void AwaitStart() {
    const MutexLock lock(start_mu_);
    while (!start_begun_) start_changed_.wait(start_mu_);
  }

  /// Changes of one stream come one after the other: earlier changes are made, or given up, by
  /// then.
  void AwaitChanges(const std::string& name) {
    EXPECT_TRUE(changes_.WithoutChange(name, {}, [] { return absl::OkStatus(); }).ok());
  }

  FakeStreamOptions options_;
  absl::Status start_fails_;  // What the next stream's start fails with.
  /// Called before each start of a stream, which fails as this does. Empty: none does.
  std::function<absl::Status(const StreamConfig& config, const std::stop_token& stop)> starting_;
  Mutex start_mu_;
  CondVar start_changed_;
  bool start_begun_ ABSL_GUARDED_BY(start_mu_) = false;
  StreamEventLog events_;
  /// The parts of the streams by name, of each the one that was started last.
  std::map<std::string, FakeStream> fakes_;
  std::vector<FakeStream> before_;  // What was started before: its clocks are still looked at.
  StreamRegistry streams_;
  FakeClock liveness_clock_;
  Liveness liveness_{streams_, liveness_clock_};
  StreamChanges changes_{
      {.streams = &streams_,
       .events = &events_,
       .start = [this](const StreamConfig& config,
                       const std::stop_token& stop) { return Start(config, stop); },
       .admit =
           [this](const StreamConfig& config, const pipeline::LearnerDescription& learner,
                  const std::stop_token& stop) {
             return budget_gate_.Admit(config, learner, {}, stop);
           },
       .on_begin = [this](const std::string& stream) { budget_gate_.Hold(stream); },
       .on_end = [this](const std::string& stream) { budget_gate_.Release(stream); },
       .max_streams = 4}};
  BudgetGate budget_gate_{
      {.cores = 100}, streams_, [](const ingest::SourceOptions&) { return 0.0; }};
  ClientRules rules_;
  CallCounts calls_;
  FakeStream& street_ = fakes_["street"];
  FakeStream& yard_ = fakes_["yard"];
  ConnectionCounts counts_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;

 private:
  absl::StatusOr<SharedStream> Start(const StreamConfig& config, const std::stop_token& stop) {
    if (!start_fails_.ok()) return std::exchange(start_fails_, absl::OkStatus());
    if (starting_) MILLRACE_RETURN_IF_ERROR(starting_(config, stop));
    const StreamEventLog::Incarnation incarnation = events_.Begin(config.name);
    FakeStreamOptions options = options_;
    options.config = config;
    options.on_source_state = [this, incarnation](auto state, const absl::Status& cause) {
      events_.SourceIs(incarnation, state, cause);
    };
    options.on_learner_state = [this, incarnation](auto state, const absl::Status& cause) {
      events_.LearnerIs(incarnation, state, cause);
    };
    options.on_overload = [this, incarnation](const Overload& overload) {
      events_.OverloadIs(incarnation, overload);
    };
    options.admit = [this, config](const pipeline::LearnerDescription& learner) {
      return budget_gate_.Admit(config, learner);
    };
    FakeStream fake = StartFakeStream(options);
    if (!fake.started.ok()) {
      events_.Forget(incarnation);
      return fake.started;
    }
    auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
    SharedStream served =
        std::make_shared<ServedStream>(record, std::move(fake.stream), incarnation);
    std::swap(fakes_[config.name], fake);
    before_.push_back(std::move(fake));
    return served;
  }
};

}  // namespace millrace::service
