// A stream that is being changed, with other changes of it waiting.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/grpc_server.h"
#include "service/stream_control.h"

namespace millrace::service {

/// A change of a stream, or of one that is to be, that goes on for as long as this lives.
class HeldChange {
 public:
  HeldChange(StreamControl& control, const std::string& stream)
      : change_([this, &control, stream] {
          EXPECT_TRUE(control.WithoutChange(stream, {}, [this] { return Hold(); }).ok());
        }) {
    begun_.get_future().wait();
  }
  ~HeldChange() { go_on_.set_value(); }

  HeldChange(const HeldChange&) = delete;
  HeldChange& operator=(const HeldChange&) = delete;

 private:
  absl::Status Hold() {
    begun_.set_value();
    go_on_.get_future().wait();
    return absl::OkStatus();
  }

  std::promise<void> begun_;
  std::promise<void> go_on_;
  std::jthread change_;
};

/// Changes of the stream "street" that it refuses when their turn comes, behind a HeldChange: as
/// many as may wait, and one more.
class WaitingChanges {
 public:
  static constexpr int kMayWait = 64 + static_cast<int>(kChangesAtOnce);

  explicit WaitingChanges(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::StreamService::NewStub(channel)) {
    for (int i = 0; i <= kMayWait; ++i) {
      Call& call = *calls_.emplace_back(std::make_unique<Call>());
      call.request.set_stream("street");
      call.request.set_etag("another");
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
      served += status.error_code() == grpc::StatusCode::ABORTED ? 1 : 0;
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
