// A server whose thread for changes is busy, with others waiting.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "millrace/v1/learner_service.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/config.h"

namespace millrace::service {

/// A reset of the stream "street" that goes on for as long as this lives.
class HeldChange {
 public:
  /// `starting`: what is called before each start of a stream. It must outlive this.
  HeldChange(const std::shared_ptr<grpc::Channel>& channel,
             std::function<absl::Status(const StreamConfig&)>& starting)
      : starting_(starting), stub_(v1::LearnerService::NewStub(channel)) {
    starting_ = [this](const StreamConfig& config) {
      if (config.name != "street") return absl::OkStatus();
      begun_.set_value();
      go_on_.get_future().wait();
      return absl::OkStatus();
    };
    request_.set_stream("street");
    stub_->async()->ResetLearner(&context_, &request_, &response_,
                                 [this](const grpc::Status& status) { done_.set_value(status); });
    begun_.get_future().wait();
  }
  ~HeldChange() {
    go_on_.set_value();
    done_.get_future().wait();
    starting_ = nullptr;
  }

  HeldChange(const HeldChange&) = delete;
  HeldChange& operator=(const HeldChange&) = delete;

 private:
  std::function<absl::Status(const StreamConfig&)>& starting_;
  const std::unique_ptr<v1::LearnerService::Stub> stub_;
  grpc::ClientContext context_;
  v1::ResetLearnerRequest request_;
  v1::ResetLearnerResponse response_;
  std::promise<void> begun_;
  std::promise<void> go_on_;
  std::promise<grpc::Status> done_;
};

/// Changes of a stream that there is not, behind a HeldChange: as many as may wait, and one more.
class WaitingChanges {
 public:
  static constexpr int kMayWait = 64;

  explicit WaitingChanges(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::StreamService::NewStub(channel)) {
    for (int i = 0; i <= kMayWait; ++i) {
      Call& call = *calls_.emplace_back(std::make_unique<Call>());
      call.request.set_stream("nowhere");
      stub_->async()->DeleteStream(&call.context, &call.request, &call.response,
                                   [this, &call](const grpc::Status& status) {
                                     if (++ended_ == 1) refused_.set_value(status);
                                     call.done.set_value(status);
                                   });
    }
  }

  WaitingChanges(const WaitingChanges&) = delete;
  WaitingChanges& operator=(const WaitingChanges&) = delete;

  /// What the one was told for which there was no room. All others wait by then. Once.
  grpc::Status AwaitRefused() { return refused_.get_future().get(); }
  /// Waits until each has ended; how many had their turn. Once.
  int AwaitServed() {
    int served = 0;
    for (const auto& call : calls_) {
      const grpc::Status status = call->done.get_future().get();
      served += status.error_code() == grpc::StatusCode::NOT_FOUND ? 1 : 0;
    }
    return served;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::DeleteStreamRequest request;
    v1::DeleteStreamResponse response;
    std::promise<grpc::Status> done;
  };

  const std::unique_ptr<v1::StreamService::Stub> stub_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::atomic<int> ended_ = 0;
  std::promise<grpc::Status> refused_;
};

}  // namespace millrace::service
