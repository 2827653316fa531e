// StreamService's calls that change something, against a real server whose cameras and networks the
// test is.
#include <thread>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/util/json_util.h"
#include "service/config_entry.h"
#include "service/stream_service.h"
#include "tests/service/error_details.h"
#include "tests/service/grpc_fixture.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

google::protobuf::Struct Config(const std::string& json) {
  google::protobuf::Struct config;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &config).ok()) << json;
  return config;
}

std::string Json(const google::protobuf::Struct& config) {
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(config, &json).ok());
  return json;
}

class StreamChangesTest : public GrpcFixture {
 protected:
  grpc::Status Create(const std::string& json) {
    grpc::ClientContext context;
    v1::CreateStreamRequest request;
    *request.mutable_config() = Config(json);
    v1::CreateStreamResponse response;
    const grpc::Status status = stub_->CreateStream(&context, request, &response);
    stream_ = response.stream();
    return status;
  }

  grpc::Status Update(const std::string& name, const std::string& json,
                      const std::string& etag = "", bool allow_reset = false) {
    grpc::ClientContext context;
    v1::UpdateStreamRequest request;
    request.set_stream(name);
    *request.mutable_config() = Config(json);
    request.set_etag(etag);
    request.set_allow_reset(allow_reset);
    v1::UpdateStreamResponse response;
    const grpc::Status status = stub_->UpdateStream(&context, request, &response);
    stream_ = response.stream();
    return status;
  }

  grpc::Status Delete(const std::string& name, const std::string& etag = "") {
    grpc::ClientContext context;
    v1::DeleteStreamRequest request;
    request.set_stream(name);
    request.set_etag(etag);
    v1::DeleteStreamResponse response;
    const grpc::Status status = stub_->DeleteStream(&context, request, &response);
    stream_ = response.stream();
    return status;
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const SharedStream& served : streams_.All())
      names.push_back(served->stream->config().name);
    return names;
  }

  std::unique_ptr<v1::StreamService::Stub> stub_ = v1::StreamService::NewStub(channel_);
  v1::Stream stream_;  // Of the last answer.
};

// ------------------------------------------------------------------------------------- Creating --

TEST_F(StreamChangesTest, AStreamIsAddedAndLearnsAndShowsWhatItWasMadeOf) {
  ASSERT_TRUE(
      Create(R"({"name": "gate", "source": {"uri": "rtsp://me:pw@camera/9", "max_fps": 5}})").ok());
  EXPECT_THAT(Names(), ElementsAre("street", "yard", "gate"));
  EXPECT_EQ(stream_.name(), "gate");
  EXPECT_THAT(Json(stream_.config()), HasSubstr(R"("max_fps":5)"));
  EXPECT_THAT(Json(stream_.config()), HasSubstr(R"("uri":"rtsp://***@camera/9")"));
  EXPECT_FALSE(stream_.etag().empty());
  EXPECT_FALSE(stream_.run_id().empty());
  Film(fakes_["gate"], 3);
  EXPECT_EQ(Served("gate")->stream->Snapshot().frames.predicted, 2u);
}

TEST_F(StreamChangesTest, EveryFieldThatIsWrongIsNamed) {
  const grpc::Status status =
      Create(R"({"name": "a b", "source": {"uri": "rtsp://c/1", "max_fbs": 5}, "model": 3})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.infos, 1);
  EXPECT_EQ(details.info.reason(), "INVALID_FIELD");
  EXPECT_EQ(details.info.domain(), "millrace");
  std::vector<std::string> fields;
  for (const auto& violation : details.bad_request.field_violations()) {
    fields.push_back(violation.field());
    EXPECT_THAT(status.error_message(), HasSubstr(violation.description()));
  }
  EXPECT_THAT(fields, ::testing::UnorderedElementsAre("config.name", "config.source.max_fbs",
                                                      "config.model"));
  EXPECT_THAT(status.error_message(), HasSubstr("did you mean 'max_fps'?"));
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
}

TEST_F(StreamChangesTest, AnEmptyConfigurationSaysWhatItNeeds) {
  const grpc::Status status = Create("{}");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("has no key 'name', which it needs"));
}

TEST_F(StreamChangesTest, ATakenNameIsRefused) {
  const grpc::Status status = Create(R"({"name": "yard", "source": {"uri": "rtsp://c/1"}})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ReasonOf(status), "STREAM_EXISTS");
  EXPECT_EQ(DetailsOf(status).info.metadata().at("stream"), "yard");
}

TEST_F(StreamChangesTest, SourcesThatAreNotForClientsAreRefused) {
  for (
      const char* config : {
          R"({"name": "gate", "source": {"uri": "/etc/passwd"}})",
          R"({"name": "gate", "source": {"uri": "file:///etc/passwd"}})",
          R"({"name": "gate", "source": {"uri": "rtsp://c/1", "user": "me", "password_file": "/k"}})",
          R"({"name": "gate", "source": {"uri": "rtsp://c/1"}, "model": {"weights": "w.bin"}})",
          R"({"name": "gate", "source": {"uri": "rtsp://c/1"}, "checkpoints": {"folder": "x"}})",
      }) {
    const grpc::Status status = Create(config);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << config;
    EXPECT_EQ(ReasonOf(status), "SOURCE_NOT_ALLOWED");
    EXPECT_THAT(status.error_message(), HasSubstr("client_sources.")) << config;
  }
}

TEST_F(StreamChangesTest, ThereIsRoomForSoManyAndNoMore) {
  ASSERT_TRUE(Create(R"({"name": "a", "source": {"uri": "rtsp://c/1"}})").ok());
  ASSERT_TRUE(Create(R"({"name": "b", "source": {"uri": "rtsp://c/1"}})").ok());
  const grpc::Status status = Create(R"({"name": "c", "source": {"uri": "rtsp://c/1"}})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(status).info.metadata().at("limit"), "4");
}

TEST_F(StreamChangesTest, AStreamThatCannotStartLeavesNothingBehind) {
  start_fails_ = absl::DataLossError("w.bin is no weight file");
  const grpc::Status status = Create(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(status.error_message(), "w.bin is no weight file");
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
  EXPECT_TRUE(Create(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})").ok());
}

TEST_F(StreamChangesTest, AStartThatThrowsFailsAloneAndTheServerLivesOn) {
  constexpr char kGate[] = R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})";
  on_start_ = [] { throw std::runtime_error("cuda says no"); };
  grpc::Status status = Create(kGate);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), "this failed: cuda says no");
  on_start_ = [] { throw 7; };
  status = Create(kGate);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("it threw something"));
  on_start_ = [] {};
  EXPECT_TRUE(Create(kGate).ok());
}

/// A call for a stream that there is not, which waits for the changes before.
struct Waiting {
  grpc::ClientContext context;
  v1::DeleteStreamRequest request;
  v1::DeleteStreamResponse response;
  std::promise<grpc::Status> done;
};

TEST_F(StreamChangesTest, SoManyChangesMayWaitAndNoMore) {
  std::promise<void> entered;
  std::promise<void> go_on;
  on_start_ = [&] {
    entered.set_value();
    go_on.get_future().wait();
  };
  std::jthread busy(
      [&] { EXPECT_TRUE(Create(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})").ok()); });
  entered.get_future().wait();
  std::vector<std::unique_ptr<Waiting>> calls;
  std::promise<grpc::Status> refused;
  constexpr int kCalls = 65;  // One more than may wait.
  std::atomic<int> ended = 0;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(std::make_unique<Waiting>());
    Waiting& call = *calls.back();
    call.request.set_stream("nowhere");
    stub_->async()->DeleteStream(&call.context, &call.request, &call.response,
                                 [&](const grpc::Status& status) {
                                   if (++ended == 1) refused.set_value(status);
                                   call.done.set_value(status);
                                 });
  }
  const grpc::Status status = refused.get_future().get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_CHANGES");
  EXPECT_TRUE(DetailsOf(status).has_retry);
  go_on.set_value();
  int served = 0;
  for (const auto& call : calls) {
    served += call->done.get_future().get().error_code() == grpc::StatusCode::NOT_FOUND ? 1 : 0;
  }
  EXPECT_EQ(served, kCalls - 1);
}

// ------------------------------------------------------------------------------------- Changing --

constexpr char kOtherCamera[] = R"({"source": {"uri": "rtsp://camera/2"}})";
constexpr char kOtherRate[] = R"({"source": {"uri": "rtsp://***@camera/1"},
                                  "model": {"learning_rate": 0.01}})";

TEST_F(StreamChangesTest, AnotherSourceLeavesTheLearnerAsItIs) {
  Film(street_, 3);
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", kOtherCamera).ok());
  EXPECT_EQ(stream_.uri(), "rtsp://camera/2");
  EXPECT_EQ(stream_.run_id(), run);

  FakeSource* const second = street_.sources->back();
  second->Push();
  second->Push();
  street_.learner->Predict();
  const FrameCounts frames = street().Snapshot().frames;
  EXPECT_EQ(frames.received, 5u);
  EXPECT_EQ(frames.predicted, 3u);
  EXPECT_EQ(street().ring().Newest()->frame_number, 4);
  EXPECT_EQ(street().ring().Newest()->epoch, 1);
}

TEST_F(StreamChangesTest, ASourceThatCannotBeOpenedChangesNothing) {
  // Files are not for clients, so the server's own fixture lets one through as a test picture.
  StreamConfig config = Served("street")->config();
  config.source.uri = kNoSuchSource;
  config.entry = R"({"name":"street","source":{"uri":"file:nowhere.avi"}})";
  const auto updated = control_.Update({.name = "street"}, config, false);
  EXPECT_TRUE(absl::IsNotFound(updated.status()));
  EXPECT_EQ(street().Snapshot().uri, "rtsp://***@camera/1");
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u);
}

TEST_F(StreamChangesTest, WhatWasLearnedIsNotLostUnlessThatIsAllowed) {
  const grpc::Status status = Update("street", kOtherRate);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "WOULD_FORGET");
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", kOtherRate, "", /*allow_reset=*/true).ok());
  EXPECT_NE(stream_.run_id(), run);
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://user:secret@camera/1")
      << "a URI as it is shown stands for the one with the login";
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u);
}

TEST_F(StreamChangesTest, ALearnerThatCannotBeMadeLeavesTheStreamAsItWas) {
  start_fails_ = absl::InvalidArgumentError("the cuts do not fit");
  const grpc::Status status = Update("street", kOtherRate, "", /*allow_reset=*/true);
  EXPECT_EQ(status.error_message(), "the cuts do not fit");
  EXPECT_EQ(Served("street")->config().learner.learning_rate,
            pipeline::FlowLearnerOptions().learning_rate);
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u);
}

TEST_F(StreamChangesTest, OfTwoWhoChangeTheSameOneOnlyTheFirstDoes) {
  const std::string etag = EtagOf(Served("street")->config().entry);
  ASSERT_TRUE(Update("street", kOtherCamera, etag).ok());
  EXPECT_NE(stream_.etag(), etag);
  const grpc::Status second = Update("street", kOtherCamera, etag);
  EXPECT_EQ(second.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(second), "ETAG_MISMATCH");
  EXPECT_EQ(Delete("street", etag).error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(StreamChangesTest, AChangeThatChangesNothingIsNone) {
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", R"({"source": {"uri": "rtsp://***@camera/1"}})").ok());
  EXPECT_EQ(stream_.run_id(), run);
  EXPECT_THAT(*street_.sources, SizeIs(1));
}

TEST_F(StreamChangesTest, AChangeMustNameAStreamThereIsAndKeepItsName) {
  EXPECT_EQ(Update("", kOtherCamera).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Update("gate", kOtherCamera).error_code(), grpc::StatusCode::NOT_FOUND);
  const grpc::Status renamed =
      Update("street", R"({"name": "road", "source": {"uri": "rtsp://camera/1"}})");
  EXPECT_EQ(renamed.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(renamed).bad_request.field_violations(0).field(), "config.name");
}

// ------------------------------------------------------------------------------------- Deleting --

TEST_F(StreamChangesTest, ADeletedStreamIsStoppedAndItsNameIsFree) {
  Film(street_, 3);
  const SharedStream served = Served("street");
  ASSERT_TRUE(Delete("street").ok());
  EXPECT_EQ(stream_.frames().predicted(), 2u);
  EXPECT_EQ(stream_.source_state(), v1::SOURCE_STATE_STOPPED);
  EXPECT_TRUE(served->stream->ring().closed());
  EXPECT_THAT(Names(), ElementsAre("yard"));
  EXPECT_EQ(Delete("street").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Delete("").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Create(R"({"name": "street", "source": {"uri": "rtsp://c/1"}})").ok());
}

// ------------------------------------------------------------------------------------- Watching --

/// Reads the events of a watcher.
class Watcher {
 public:
  Watcher(v1::StreamService::Stub& stub, const std::string& stream = "") {
    v1::WatchStreamsRequest request;
    request.set_stream(stream);
    reader_ = stub.WatchStreams(&context_, request);
    reader_->WaitForInitialMetadata();
  }

  /// The next event, or one without a kind at the end.
  v1::StreamEvent Next() {
    v1::WatchStreamsResponse response;
    return reader_->Read(&response) ? response.event() : v1::StreamEvent();
  }
  grpc::Status Finish() { return reader_->Finish(); }
  ~Watcher() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchStreamsResponse>> reader_;
};

TEST_F(StreamChangesTest, AWatcherSeesStreamsComeAndGo) {
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

TEST_F(StreamChangesTest, AWatcherOfOneStreamSeesWhyItsCameraIsAway) {
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

TEST_F(StreamChangesTest, TheWatcherOfAStreamEndsWithIt) {
  Watcher watcher(*stub_, "street");
  ASSERT_TRUE(Delete("street").ok());
  while (watcher.Next().kind() != v1::STREAM_EVENT_KIND_UNSPECIFIED) {
  }
  EXPECT_TRUE(watcher.Finish().ok());
  Watcher late(*stub_, "street");
  EXPECT_EQ(late.Next().kind(), v1::STREAM_EVENT_KIND_UNSPECIFIED);
  EXPECT_EQ(late.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(StreamChangesTest, AWatcherSeesALearnerFail) {
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

}  // namespace
}  // namespace millrace::service
