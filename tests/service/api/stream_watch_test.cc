// StreamService.WatchStreams, at a real server over streams whose camera and network the test is.
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/stream_changes.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOtherCamera[] = R"({"source": {"uri": "rtsp://camera/2"}})";

/// Reads the events of a watcher.
class Watcher {
 public:
  explicit Watcher(v1::StreamService::Stub& stub, const std::string& stream = "") {
    v1::WatchStreamsRequest request;
    request.set_stream(stream);
    reader_ = stub.WatchStreams(&context_, request);
    reader_->WaitForInitialMetadata();
  }

  /// The next event, or one without a kind at the end.
  v1::StreamEvent Next() {
    v1::WatchStreamsResponse response;
    return Read(response) ? response.event() : v1::StreamEvent();
  }
  bool Read(v1::WatchStreamsResponse& response) { return reader_->Read(&response); }
  grpc::Status Finish() { return reader_->Finish(); }
  void Cancel() { context_.TryCancel(); }
  ~Watcher() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchStreamsResponse>> reader_;
};
class StreamWatchTest : public StreamChangesTest {
 protected:
  StreamWatchTest() = default;
  using StreamChangesTest::StreamChangesTest;
};

TEST_F(StreamWatchTest, AWatcherSeesStreamsComeAndGo) {
  Watcher watcher(*stub_);
  EXPECT_EQ(watcher.Next().kind(), v1::STREAM_EVENT_KIND_EXISTS);
  const v1::StreamEvent yard = watcher.Next();
  EXPECT_EQ(yard.stream(), "yard");
  EXPECT_EQ(yard.source_state(), v1::SOURCE_STATE_STREAMING);
  EXPECT_EQ(yard.learner_state(), v1::LEARNER_STATE_LEARNING);

  ASSERT_TRUE(Create(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})").ok());
  const v1::StreamEvent created = watcher.Next();
  EXPECT_EQ(created.stream(), "gate");
  EXPECT_EQ(created.kind(), v1::STREAM_EVENT_KIND_CREATED);
  ASSERT_TRUE(Delete("gate").ok());
  std::vector<v1::StreamEventKind> kinds;
  while (kinds.empty() || kinds.back() != v1::STREAM_EVENT_KIND_DELETED) {
    kinds.push_back(watcher.Next().kind());
  }
  EXPECT_THAT(kinds,
              ElementsAre(v1::STREAM_EVENT_KIND_SOURCE_STATE, v1::STREAM_EVENT_KIND_LEARNER_STATE,
                          v1::STREAM_EVENT_KIND_DELETED));
}

TEST_F(StreamWatchTest, AWatcherOfOneStreamSeesWhyItsCameraIsAway) {
  Watcher watcher(*stub_, "street");
  EXPECT_EQ(watcher.Next().stream(), "street");
  yard_.source->GoAway(absl::UnavailableError("another"));
  street_.source->GoAway(absl::UnavailableError("connection refused"));
  const v1::StreamEvent away = watcher.Next();
  EXPECT_EQ(away.kind(), v1::STREAM_EVENT_KIND_SOURCE_STATE);
  EXPECT_EQ(away.source_state(), v1::SOURCE_STATE_BACKING_OFF);
  EXPECT_EQ(away.cause(), "connection refused");
  const v1::StreamEvent back = watcher.Next();
  EXPECT_EQ(back.source_state(), v1::SOURCE_STATE_STREAMING);
  EXPECT_EQ(back.cause(), "");
}

TEST_F(StreamWatchTest, TheWatcherOfAStreamEndsWithIt) {
  Watcher watcher(*stub_, "street");
  ASSERT_TRUE(Delete("street").ok());
  while (watcher.Next().kind() != v1::STREAM_EVENT_KIND_UNSPECIFIED) {
  }
  EXPECT_TRUE(watcher.Finish().ok());
  Watcher late(*stub_, "street");
  EXPECT_EQ(late.Next().kind(), v1::STREAM_EVENT_KIND_UNSPECIFIED);
  EXPECT_EQ(late.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(StreamWatchTest, AWatcherHearsOfTheSourceThatSitsAndOfNoOther) {
  std::deque<StreamEvent> now;
  StreamEventLog::Cursor cursor = events_.Watch("street", now);
  ASSERT_TRUE(Update("street", kOtherCamera).ok());
  std::vector<ingest::SourceState> states;
  while (const auto event = events_.Next(cursor, "street").event) states.push_back(event->source);
  EXPECT_THAT(states, ElementsAre(ingest::SourceState::kStopped, ingest::SourceState::kStreaming,
                                  ingest::SourceState::kStreaming))
      << "the last is that of the update itself";

  const StreamConfig config =
      Parsed(absl::StrCat(R"({"name":"street","source":{"uri":")", kNoSuchSource, R"("}})"));
  EXPECT_FALSE(changes_.Update({.name = "street"}, config, false).ok());
  EXPECT_FALSE(events_.Next(cursor, "street").event) << "that it failed is not the stream's state";
}

// Its end may have been told already when a watcher comes, though it is still listed.
TEST_F(StreamWatchTest, WhoWatchesAStreamThatIsBeingDeletedIsTold) {
  events_.Happened(Served("street")->incarnation, StreamEvent::Kind::kDeleted);
  Watcher late(*stub_, "street");
  EXPECT_EQ(late.Next().kind(), v1::STREAM_EVENT_KIND_UNSPECIFIED);
  const grpc::Status status = late.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "STREAM_NOT_FOUND");
}

TEST_F(StreamWatchTest, WatchersAreToldThatTheServerStops) {
  Watcher all(*stub_);
  Watcher one(*stub_, "street");
  streams_.Stop();
  events_.Close();
  for (Watcher* const watcher : {&all, &one}) {
    v1::StreamEvent last;
    for (v1::StreamEvent event = watcher->Next(); !event.stream().empty();
         event = watcher->Next()) {
      last = event;
    }
    EXPECT_EQ(last.kind(), v1::STREAM_EVENT_KIND_LEARNER_STATE) << "streams end before";
    const grpc::Status status = watcher->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(ReasonOf(status), "SERVER_STOPS");
  }
}

TEST_F(StreamWatchTest, AWatcherSeesALearnerFail) {
  Watcher watcher(*stub_, "street");
  EXPECT_EQ(watcher.Next().kind(), v1::STREAM_EVENT_KIND_EXISTS);
  street_.learner->Fail(absl::InternalError("out of memory"));
  street_.source->Push();
  street_.source->Push();
  const v1::StreamEvent failed = watcher.Next();
  EXPECT_EQ(failed.kind(), v1::STREAM_EVENT_KIND_LEARNER_STATE);
  EXPECT_EQ(failed.learner_state(), v1::LEARNER_STATE_FAILED);
  EXPECT_EQ(failed.cause(), "stream 'street': out of memory");
}

// The server, when it ends, waits for every call that it still has.
TEST_F(StreamWatchTest, AWatcherThatGoesAwayEnds) {
  Watcher watcher(*stub_);
  watcher.Cancel();
  while (watcher.Next().kind() != v1::STREAM_EVENT_KIND_UNSPECIFIED) {
  }
  EXPECT_EQ(watcher.Finish().error_code(), grpc::StatusCode::CANCELLED);
}

/// Of a camera that goes away `times` times: what a connection holds for a client that does not
/// read is soon full of such causes.
void GoAwayAtLength(const FakeSource& camera, int times) {
  for (int i = 0; i < times; ++i) {
    camera.GoAway(absl::UnavailableError(std::string(100'000, 'x')));
  }
}

TEST_F(StreamWatchTest, AWatcherThatSleepsLosesTheOldestEventsAndIsToldHowMany) {
  const auto own = v1::StreamService::NewStub(NewChannel());
  Watcher watcher(*own, "yard");
  constexpr int kTimes = 300;
  GoAwayAtLength(*yard_.source, kTimes);
  ASSERT_TRUE(Delete("yard").ok());
  int told = 0;
  std::uint64_t dropped = 0;
  v1::WatchStreamsResponse response;
  for (; watcher.Read(response); ++told) dropped += response.dropped();
  EXPECT_EQ(response.event().kind(), v1::STREAM_EVENT_KIND_DELETED);
  EXPECT_TRUE(watcher.Finish().ok());
  EXPECT_GT(dropped, 0u);
  // That it was there, away and back each time, stopped, ended and deleted.
  EXPECT_EQ(told + dropped, 1u + 2 * kTimes + 3);
}

// Flows of 0.6 MB each.
class ImpatientStreamWatchTest : public StreamWatchTest {
 protected:
  ImpatientStreamWatchTest()
      : StreamWatchTest({.learner = {.width = 320, .height = 240}, .ring_capacity = 4},
                        {.stall_limit = std::chrono::milliseconds(300)}) {}
};

// The subscriber reads nothing either, and starts later. So once the server has disconnected it,
// the server has disconnected the watcher, too. A watcher that was still connected would get the
// end of the stream.
TEST_F(ImpatientStreamWatchTest, OneThatTakesNothingIsLetGoAndToldWhy) {
  const auto own = v1::StreamService::NewStub(NewChannel());
  Watcher frozen(*own, "yard");
  GoAwayAtLength(*yard_.source, 120);
  ASSERT_TRUE(Delete("yard").ok());
  const auto others = NewChannel();
  Subscriber later(*others, To("street"));
  Film(street_, 60);
  while (subscribers().cut_off == 0) std::this_thread::yield();
  while (frozen.Next().kind() != v1::STREAM_EVENT_KIND_UNSPECIFIED) {
  }
  const grpc::Status status = frozen.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SLOW_SUBSCRIBER");
  EXPECT_THAT(status.error_message(), HasSubstr("this watcher took nothing for 0.3 s"));
}

}  // namespace
}  // namespace millrace::service
