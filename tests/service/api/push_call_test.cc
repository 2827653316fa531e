// A call that pushes frames. The test plays gRPC, for events that no client can cause at will.
#include "service/api/push_call.h"

#include <grpcpp/server_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/clock.h"
#include "millrace/v1/frame_service.pb.h"
#include "service/rpc/parse.h"
#include "tests/base/no_more_threads.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

/// gRPC's side of one call.
class FakeGrpcCall final
    : public grpc::ServerCallbackReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  void Bind(PushCall& call) { BindReactor(&call); }

  /// Puts a request where the call wants its next one.
  void Receive(const v1::PushRequest& request) {
    const MutexLock lock(mu_);
    MILLRACE_CHECK(Serialize(request, *request_).ok());
  }
  /// Blocks new reads until the next call with false.
  void HoldReads(bool hold) {
    const MutexLock lock(mu_);
    held_ = hold;
    changed_.notify_all();
  }
  /// Waits until this number of reads in all has begun.
  void AwaitReads(int reads) {
    const MutexLock lock(mu_);
    while (reads_ < reads) changed_.wait(mu_);
  }
  bool ended() {
    const MutexLock lock(mu_);
    return end_.has_value();
  }
  grpc::Status AwaitEnd() {
    const MutexLock lock(mu_);
    while (!end_) changed_.wait(mu_);
    return *end_;
  }

  void Read(grpc::ByteBuffer* request) override {
    const MutexLock lock(mu_);
    request_ = request;
    ++reads_;
    changed_.notify_all();
    while (held_) changed_.wait(mu_);
  }
  void Finish(grpc::Status status) override {
    const MutexLock lock(mu_);
    end_ = std::move(status);
    changed_.notify_all();
  }
  void SendInitialMetadata() override {}
  void Write(const grpc::ByteBuffer* /*response*/, grpc::WriteOptions /*options*/) override {}
  void WriteAndFinish(const grpc::ByteBuffer* /*response*/, grpc::WriteOptions /*options*/,
                      grpc::Status /*status*/) override {}

 private:
  grpc::internal::ServerReactor* reactor() override { return nullptr; }
  void CallOnDone() override {}

  Mutex mu_;
  CondVar changed_;
  grpc::ByteBuffer* request_ ABSL_GUARDED_BY(mu_) = nullptr;
  int reads_ ABSL_GUARDED_BY(mu_) = 0;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mu_);
};

/// Blocks callers of Enter() until it is opened.
class GuardedEntry final : public ingest::PushEntry {
 public:
  absl::StatusOr<std::unique_ptr<ingest::Pusher>> Enter(std::function<void()> /*on_end*/) override {
    const MutexLock lock(mu_);
    while (!open_) changed_.wait(mu_);
    return std::make_unique<NoPusher>();
  }
  void Open() {
    const MutexLock lock(mu_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  class NoPusher final : public ingest::Pusher {
   public:
    absl::StatusOr<Result> Push(const ingest::PushedPicture& /*picture*/) override {
      return absl::UnimplementedError("nothing is pushed here");
    }
  };

  Mutex mu_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mu_) = false;
};

/// A call that has begun to read its first request, of a server with the stream "door".
class PushCallTest : public testing::Test {
 protected:
  PushCallTest() {
    auto door = std::make_unique<FakeCameraStream>("door");
    door->TakeFramesFrom(entry_);
    auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
    MILLRACE_CHECK(
        streams_.Add(std::make_shared<ServedStream>(std::move(record), std::move(door))).ok());
    MILLRACE_CHECK(PushCall::Begin(call_, context_) == call_.get());
    grpc_.Bind(*call_);
  }

  const std::shared_ptr<GuardedEntry> entry_ = std::make_shared<GuardedEntry>();
  StreamRegistry streams_;
  grpc::CallbackServerContext context_;
  FakeGrpcCall grpc_;
  StreamingCalls calls_{std::chrono::hours(1)};
  const std::shared_ptr<PushCall> call_ = std::make_shared<PushCall>(streams_, calls_);
};

// gRPC may free a call once it has ended: a thread about to read would read freed memory.
TEST_F(PushCallTest, ACancelledCallIsNotEndedWhileAReadIsBeingBegun) {
  v1::PushRequest request;
  request.set_stream("door");
  grpc_.Receive(request);
  call_->OnReadDone(true);
  grpc_.HoldReads(true);
  entry_->Open();  // Only now: the next read is begun by the thread of `calls_`.
  grpc_.AwaitReads(2);
  call_->OnSendInitialMetadataDone(true);
  call_->OnCancel();
  EXPECT_FALSE(grpc_.ended());
  grpc_.HoldReads(false);
  EXPECT_EQ(grpc_.AwaitEnd().error_code(), grpc::StatusCode::CANCELLED);
  call_->OnReadDone(false);
  call_->OnDone();
}

// The call's thread uses what the end of the call would release.
TEST_F(PushCallTest, ACancelledCallIsNotEndedWhileItsThreadWorks) {
  v1::PushRequest request;
  request.set_stream("door");
  grpc_.Receive(request);
  call_->OnReadDone(true);
  call_->OnCancel();
  EXPECT_FALSE(grpc_.ended());
  entry_->Open();
  EXPECT_EQ(grpc_.AwaitEnd().error_code(), grpc::StatusCode::CANCELLED);
  call_->OnDone();
}

TEST_F(PushCallTest, ACallEndsForWhichTheSystemHasNoThread) {
  {
    const NoMoreThreads none;
    call_->OnReadDone(true);
  }
  const grpc::Status end = grpc_.AwaitEnd();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(end.error_message(), HasSubstr("this failed: "));
  call_->OnDone();
}

}  // namespace
}  // namespace millrace::service
