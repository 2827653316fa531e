// Reports to a watcher of one stream about lost events. The test plays gRPC, so that it knows when
// the watcher takes each event.
#include <grpcpp/server_context.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/api/stream_watch.h"
#include "service/rpc/parse.h"

namespace millrace::service {
namespace {

using ::testing::SizeIs;
using Kind = StreamEvent::Kind;

/// gRPC's side of a watcher's call. Thread-safe.
class FakeWriter final : public grpc::ServerCallbackWriter<grpc::ByteBuffer> {
 public:
  void Bind(StreamWatch& watch) { BindReactor(&watch); }

  std::vector<v1::WatchStreamsResponse> written() const {
    const MutexLock lock(mu_);
    return written_;
  }
  /// With what the call has ended; nothing while it goes on.
  std::optional<grpc::Status> end() const {
    const MutexLock lock(mu_);
    return end_;
  }

  void Write(const grpc::ByteBuffer* response, grpc::WriteOptions /*options*/) override {
    const MutexLock lock(mu_);
    written_.push_back(*Parse<v1::WatchStreamsResponse>(*response));
  }
  void Finish(grpc::Status status) override {
    const MutexLock lock(mu_);
    end_ = std::move(status);
  }
  void SendInitialMetadata() override {}
  void WriteAndFinish(const grpc::ByteBuffer* /*response*/, grpc::WriteOptions /*options*/,
                      grpc::Status /*status*/) override {}

 private:
  grpc::internal::ServerReactor* reactor() override { return nullptr; }
  void CallOnDone() override {}

  mutable Mutex mu_;
  std::vector<v1::WatchStreamsResponse> written_ ABSL_GUARDED_BY(mu_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mu_);
};

/// A watcher of "gate". It takes its first message, which says that the stream exists, on request
/// of the test.
class StreamWatchLossesTest : public testing::Test {
 protected:
  StreamWatchLossesTest() {
    events_.Happened(gate_, Kind::kCreated);
    events_.Happened(yard_, Kind::kCreated);
    watch_ = std::make_shared<StreamWatch>(events_, *StreamWatch::PlaceIn(events_, "gate"), calls_);
    StreamWatch::Begin(watch_, context_);
    writer_.Bind(*watch_);
    watch_->OnSendInitialMetadataDone(true);
  }
  ~StreamWatchLossesTest() override { watch_->OnDone(); }

  /// More events of another stream than are kept: 256.
  void LoseEvents() {
    for (int i = 0; i < 300; ++i) events_.Happened(yard_, Kind::kUpdated);
  }

  StreamEventLog events_;
  const StreamEventLog::Incarnation gate_ = events_.Begin("gate");
  const StreamEventLog::Incarnation yard_ = events_.Begin("yard");
  grpc::CallbackServerContext context_;
  FakeWriter writer_;
  StreamingCalls calls_{std::chrono::hours(1)};
  std::shared_ptr<StreamWatch> watch_;
};

TEST_F(StreamWatchLossesTest, AWatcherThatLostTheEndOfItsStreamEnds) {
  events_.Happened(gate_, Kind::kDeleted);
  LoseEvents();
  watch_->OnWriteDone(true);
  ASSERT_TRUE(writer_.end().has_value()) << "it would wait for ever";
  EXPECT_TRUE(writer_.end()->ok());
  EXPECT_THAT(writer_.written(), SizeIs(1));
}

TEST_F(StreamWatchLossesTest, WhatWasLostIsToldWithTheNextEventHoweverLateThatComes) {
  LoseEvents();
  watch_->OnWriteDone(true);
  EXPECT_THAT(writer_.written(), SizeIs(1)) << "none of the others is of this stream";
  events_.Happened(gate_, Kind::kUpdated);
  watch_->Pump();
  ASSERT_THAT(writer_.written(), SizeIs(2));
  EXPECT_EQ(writer_.written()[1].event().kind(), v1::STREAM_EVENT_KIND_UPDATED);
  EXPECT_EQ(writer_.written()[1].dropped(), 300u - 256u);
  watch_->OnWriteDone(true);

  events_.Happened(gate_, Kind::kDeleted);
  watch_->Pump();
  ASSERT_THAT(writer_.written(), SizeIs(3));
  EXPECT_EQ(writer_.written()[2].dropped(), 0u) << "it is told once";
  watch_->OnWriteDone(true);
  ASSERT_TRUE(writer_.end().has_value());
  EXPECT_TRUE(writer_.end()->ok());
}

}  // namespace
}  // namespace millrace::service
