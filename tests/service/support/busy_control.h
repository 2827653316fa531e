// Streams that are being changed, and calls that wait for that.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/registry/stream_changes.h"

namespace millrace::service {

/// A change of an existing or new stream that lasts as long as this object lives.
class HeldChange {
 public:
  HeldChange(StreamChanges& changes, const std::string& stream)
      : change_([this, &changes, stream] {
          EXPECT_TRUE(changes.WithoutChange(stream, {}, [this] { return Hold(); }).ok());
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

/// Concurrent calls of DeleteStream that change nothing: no stream has their etag.
class VainDeletes {
 public:
  VainDeletes(const std::shared_ptr<grpc::Channel>& channel,
              const std::vector<std::string>& streams)
      : stub_(v1::StreamService::NewStub(channel)) {
    for (const std::string& stream : streams) {
      Call& call = *calls_.emplace_back(std::make_unique<Call>());
      call.request.set_stream(stream);
      call.request.set_etag("another");
      stub_->async()->DeleteStream(&call.context, &call.request, &call.response,
                                   [this](const grpc::Status& status) { Ended(status); });
    }
  }

  VainDeletes(const VainDeletes&) = delete;
  VainDeletes& operator=(const VainDeletes&) = delete;

  /// Waits until this number of calls has ended, and returns their statuses.
  std::vector<grpc::Status> AwaitEnded(std::size_t calls) {
    const MutexLock lock(mu_);
    while (ended_.size() < calls) changed_.wait(mu_);
    return ended_;
  }
  /// Waits until all have ended. How many of them so. To be called before it is destroyed.
  std::size_t AwaitAll(grpc::StatusCode code) {
    std::size_t ended = 0;
    for (const grpc::Status& status : AwaitEnded(calls_.size())) {
      if (status.error_code() == code) ++ended;
    }
    return ended;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::DeleteStreamRequest request;
    v1::DeleteStreamResponse response;
  };

  void Ended(const grpc::Status& status) {
    const MutexLock lock(mu_);
    ended_.push_back(status);
    changed_.notify_all();
  }

  const std::unique_ptr<v1::StreamService::Stub> stub_;
  std::vector<std::unique_ptr<Call>> calls_;
  Mutex mu_;
  CondVar changed_;
  std::vector<grpc::Status> ended_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
