// Changes of streams that run, by clients of StreamService, against a real server whose cameras and
// networks the test is.
#include <chrono>
#include <deque>
#include <future>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "service/config/config_entry.h"
#include "tests/service/support/busy_control.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/stream_changes.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kOtherCamera[] = R"({"source": {"uri": "rtsp://camera/2"}})";
constexpr char kOtherSeed[] = R"({"source": {"uri": "rtsp://***@camera/1"},
                                  "model": {"seed": 7}})";

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

TEST_F(StreamChangesTest, ASourceThatTheDevicesHaveNoRoomForChangesNothing) {
  // Another takes 0.86 of them.
  budget_gate_.SetBudget({.cores = 66});
  const auto with_rate = [](const std::string& rate) {
    return R"({"source": {"uri": "rtsp://***@camera/1", "max_fps": )" + rate + "}}";
  };
  EXPECT_TRUE(Update("yard", with_rate("20")).ok());
  const std::string etag = stream_.etag();
  StreamConfig config = Parsed(R"({"name":"yard","source":{"uri":"rtsp://camera/2"}})");
  config.learner.frames_per_second = 900;
  const auto updated = changes_.Update({.name = "yard"}, config, false);
  EXPECT_TRUE(absl::IsResourceExhausted(updated.status())) << updated.status();
  EXPECT_EQ(EtagOf(Served("yard")->config().entry), etag);
  // Less is always possible, however much others take.
  budget_gate_.SetBudget({.cores = 0.5});
  EXPECT_TRUE(Update("yard", with_rate("10")).ok());
}

// Hangs, and is killed by the test's timeout, where a change waits for another stream's.
TEST_F(StreamChangesTest, AStreamWhoseSourceHangsHoldsUpNoOther) {
  std::promise<void> go_on;
  street_.source->HoldStop(go_on.get_future().share());
  auto deleted = std::async(std::launch::async, [this] {
    grpc::ClientContext context;
    v1::DeleteStreamRequest request;
    request.set_stream("street");
    v1::DeleteStreamResponse response;
    return stub_->DeleteStream(&context, request, &response);
  });
  while (streams_.Find("street").ok()) std::this_thread::yield();
  EXPECT_TRUE(Create(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})").ok());
  EXPECT_TRUE(Update("yard", kOtherCamera).ok());
  EXPECT_TRUE(Update("gate", R"({"source": {"uri": "rtsp://c/1"}, "model": {"seed": 7}})",
                     /*etag=*/"", /*allow_reset=*/true)
                  .ok());
  EXPECT_TRUE(Delete("gate").ok());
  go_on.set_value();
  EXPECT_TRUE(deleted.get().ok());
  EXPECT_THAT(Names(), ElementsAre("yard"));
}

// Hangs, and is killed by the test's timeout, where the calls for one stream take all threads.
TEST_F(StreamChangesTest, AStreamThatHangsHoldsUpNoOtherHoweverManyCallsWaitForIt) {
  std::optional<HeldChange> held(std::in_place, changes_, "street");
  const std::vector<std::string> streams(kChangesAtOnce + 1, "street");
  VainDeletes deletes(channel_, streams);
  const std::vector<grpc::Status> refused =
      deletes.AwaitEnded(streams.size() - StreamChanges::kMaxWaiting);
  for (const grpc::Status& status : refused) {
    EXPECT_EQ(ReasonOf(status), "TOO_MANY_CHANGES");
    EXPECT_TRUE(DetailsOf(status).has_retry);
  }
  EXPECT_TRUE(Update("yard", kOtherCamera).ok());
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
  held.reset();
  EXPECT_EQ(deletes.AwaitAll(grpc::StatusCode::ABORTED), StreamChanges::kMaxWaiting);
}

// As the stream's turn comes, another one is the only one.
TEST_F(StreamChangesTest, AChangeOfTheOnlyStreamIsOfTheOneThatThereWasAsTheCallCame) {
  const SharedStream street = Served("street");
  const SharedStream yard = Served("yard");
  streams_.Remove(yard);
  StreamChanges changes({.streams = &streams_,
                         .events = &events_,
                         .start = [](const StreamConfig& config,
                                     const std::stop_token&) -> absl::StatusOr<SharedStream> {
                           return absl::InternalError(absl::StrCat(config.name, " is made anew"));
                         },
                         .on_begin =
                             [&](const std::string& name) {
                               EXPECT_EQ(name, "street");
                               streams_.Remove(street);
                               EXPECT_TRUE(streams_.Add(yard).ok());
                             }});
  const absl::Status reset = changes.Reset({.name = ""}).status();
  EXPECT_TRUE(absl::IsNotFound(reset)) << reset;
  EXPECT_TRUE(yard->stream->running());
}

TEST_F(StreamChangesTest, ASourceThatCannotBeOpenedChangesNothing) {
  // Files are not for clients, so the server's own fixture lets one through as a test picture.
  const StreamConfig config =
      Parsed(absl::StrCat(R"({"name":"street","source":{"uri":")", kNoSuchSource, R"("}})"));
  const auto updated = changes_.Update({.name = "street"}, config, false);
  EXPECT_TRUE(absl::IsNotFound(updated.status()));
  EXPECT_EQ(street().Snapshot().uri, "rtsp://***@camera/1");
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u);
}

TEST_F(StreamChangesTest, ALearnerIsToldAnotherRateAndPolicyAndKeepsWhatItLearned) {
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", R"({"source": {"uri": "rtsp://***@camera/1"},
                                   "model": {"learning_rate": 0.01},
                                   "learning": {"every": 4}})")
                  .ok());
  EXPECT_EQ(stream_.run_id(), run);
  EXPECT_EQ(street().Snapshot().learning_rate, 0.01);
  EXPECT_EQ(street().Snapshot().policy.every, 4);
  EXPECT_THAT(JsonOf(stream_.config()), HasSubstr(R"("learning_rate":0.01)"));
}

TEST_F(StreamChangesTest, AnotherSourceAndAnotherRateAtOnceLeaveTheLearnerItsWeightsToo) {
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", R"({"source": {"uri": "rtsp://camera/2"},
                                   "model": {"learning_rate": 0.01},
                                   "learning": {"every": 4}})")
                  .ok());
  EXPECT_EQ(stream_.run_id(), run);
  EXPECT_EQ(stream_.uri(), "rtsp://camera/2");
  EXPECT_EQ(street().Snapshot().learning_rate, 0.01);
  EXPECT_EQ(street().Snapshot().policy.every, 4);
}

TEST_F(StreamChangesTest, ALearnerGetsOtherOptionsOfItsOptimizerAndKeepsWhatItLearned) {
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", R"({"source": {"uri": "rtsp://***@camera/1"},
                                   "optimizer": {"clip_update": 2, "weight_decay": 0.01}})")
                  .ok());
  EXPECT_EQ(stream_.run_id(), run);
  EXPECT_EQ(street_.learner->optimizer().clip_update, 2);
  EXPECT_EQ(street_.learner->optimizer().weight_decay, 0.01);
  EXPECT_THAT(JsonOf(stream_.config()), HasSubstr(R"("clip_update":2)"));
  // Left out, the defaults hold again.
  ASSERT_TRUE(Update("street", R"({"source": {"uri": "rtsp://***@camera/1"}})").ok());
  EXPECT_EQ(stream_.run_id(), run);
  EXPECT_EQ(street_.learner->optimizer().clip_update, 1);
  EXPECT_EQ(street_.learner->optimizer().weight_decay, 0);
}

TEST_F(StreamChangesTest, AnotherKindOfOptimizerOrOtherStateIsNotForARunningLearner) {
  for (const char* const optimizer :
       {R"({"kind": "adam"})", R"({"kind": "sgd", "momentum": 0.9})"}) {
    const grpc::Status status =
        Update("street", absl::StrCat(R"({"source": {"uri": "rtsp://***@camera/1"},
                                          "model": {"learning_rate": 0.01},
                                          "optimizer": )",
                                      optimizer, "}"));
    EXPECT_EQ(ReasonOf(status), "WOULD_FORGET") << optimizer;
    EXPECT_EQ(street_.learner->optimizers_set, 0) << "a refused change does not disturb it";
    EXPECT_NE(street().Snapshot().learning_rate, 0.01);
  }
}

TEST_F(StreamChangesTest, WhatTheLearnerRefusesLastUndoesAnotherOptimizer) {
  const pipeline::OptimizerOptions before = street().Snapshot().optimizer;
  pipeline::OptimizerOptions clipped = before;
  clipped.clip_update = 3;
  EXPECT_TRUE(absl::IsInvalidArgument(street().Change({.learning_rate = 2, .optimizer = clipped})));
  EXPECT_EQ(street_.learner->optimizer().clip_update, before.clip_update);
  EXPECT_EQ(street().Snapshot().optimizer.clip_update, before.clip_update);
  ASSERT_TRUE(street().Change({.learning_rate = 0.1, .optimizer = clipped}).ok());
  EXPECT_EQ(street().Snapshot().optimizer.clip_update, 3);
}

TEST_F(StreamChangesTest, WhereTheSourceOfSuchAChangeCannotBeOpenedTheLearnerIsAsItWas) {
  ASSERT_TRUE(street().Change({.learning_rate = 0.002}).ok());
  const StreamConfig config =
      Parsed(absl::StrCat(R"({"name":"street","source":{"uri":")", kNoSuchSource,
                          R"("},"model":{"learning_rate":0.01},"learning":{"every":4},)"
                          R"("optimizer":{"clip_update":2}})"));
  EXPECT_TRUE(absl::IsNotFound(changes_.Update({.name = "street"}, config, false).status()));
  EXPECT_EQ(street().Snapshot().uri, "rtsp://***@camera/1");
  EXPECT_EQ(street().Snapshot().learning_rate, 0.002);
  EXPECT_EQ(street().Snapshot().policy.every, 1);
  EXPECT_EQ(street_.learner->optimizer().clip_update, 1);
  EXPECT_EQ(Served("street")->config().flow.learning.policy.every, 1);
}

TEST_F(StreamChangesTest, ADefaultThatIsWrittenOutChangesNothing) {
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", R"({"source": {"uri": "rtsp://***@camera/1", "queue": 2},
                                   "model": {"seed": 0}})")
                  .ok());
  EXPECT_EQ(stream_.run_id(), run);
}

TEST_F(StreamChangesTest, WhatWasLearnedIsNotLostUnlessThatIsAllowed) {
  const grpc::Status status = Update("street", kOtherSeed);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "WOULD_FORGET");
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Update("street", kOtherSeed, "", /*allow_reset=*/true).ok());
  EXPECT_NE(stream_.run_id(), run);
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://user:secret@camera/1")
      << "a URI as it is shown stands for the one with the login";
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u);
}

TEST_F(StreamChangesTest, ALearnerThatCannotBeMadeLeavesTheStreamAsItWas) {
  Film(street_, 3);
  const std::string run = Served("street")->run_id;
  Subscriber subscriber(*channel_, To("street"));
  start_fails_ = absl::InvalidArgumentError("the cuts do not fit");
  const grpc::Status status = Update("street", kOtherSeed, "", /*allow_reset=*/true);
  EXPECT_EQ(status.error_message(), "the cuts do not fit");
  EXPECT_EQ(Served("street")->config().learner.seed, pipeline::LearnerOptions().seed);
  EXPECT_EQ(Served("street")->run_id, run) << "what was learned was in no checkpoint";
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 4u);
  EXPECT_TRUE(subscriber.Next());
}

TEST_F(StreamChangesTest, TheOldLearnerLearnsUntilTheNewOneDoes) {
  Film(street_, 2);
  starting_ = [this](const StreamConfig& /*config*/, const std::stop_token&) {
    EXPECT_TRUE(street().running());
    return absl::OkStatus();
  };
  const SharedStream old = Served("street");
  ASSERT_TRUE(Update("street", kOtherSeed, "", /*allow_reset=*/true).ok());
  EXPECT_FALSE(old->stream->running());
  EXPECT_EQ(old->stream->ring().end().code(), absl::StatusCode::kUnavailable);
}

TEST_F(StreamChangesTest, WhereBothKeepCheckpointsInOneFolderTheOldOneLetsGoFirst) {
  ASSERT_TRUE(changes_.Create(Gate()).ok());
  const SharedStream old = Served("gate");
  starting_ = [&](const StreamConfig& /*config*/, const std::stop_token&) {
    EXPECT_FALSE(old->stream->running());
    return absl::OkStatus();
  };
  ASSERT_TRUE(changes_.Update({.name = "gate"}, Gate("{seed: 7}"), false).ok());
  EXPECT_NE(Served("gate"), old);
}

TEST_F(StreamChangesTest, OneThatIsStartedAgainIsTold) {
  ASSERT_TRUE(changes_.Create(Gate()).ok());
  std::deque<StreamEvent> now;
  StreamEventLog::Cursor cursor = events_.Watch("gate", now);
  start_fails_ = absl::InvalidArgumentError("the cuts do not fit");
  EXPECT_FALSE(changes_.Update({.name = "gate"}, Gate("{seed: 7}"), false).ok());
  EXPECT_TRUE(Served("gate")->stream->running());
  StreamEvent last;
  while (const auto event = events_.Next(cursor, "gate").event) last = *event;
  EXPECT_EQ(last.kind, StreamEvent::Kind::kUpdated);
  EXPECT_EQ(last.source, ingest::SourceState::kStreaming);
  EXPECT_EQ(last.learner, LearnerState::kLearning);
}

TEST_F(StreamChangesTest, WhatAStartThrowsLeavesTheStreamAsItWas) {
  ASSERT_TRUE(changes_.Create(Gate()).ok());
  starting_ = [this](const StreamConfig& /*config*/, const std::stop_token&) -> absl::Status {
    starting_ = nullptr;
    throw std::runtime_error("out of memory");
  };
  const auto updated = changes_.Update({.name = "gate"}, Gate("{seed: 7}"), false);
  EXPECT_EQ(updated.status().message(), "stream 'gate' could not be started: out of memory");
  EXPECT_TRUE(Served("gate")->stream->running());
}

// Neither the new one nor, again, the old one can start: an update is the way back.
TEST_F(StreamChangesTest, OneThatCouldNotBeStartedAgainIsByTheNextUpdate) {
  const StreamConfig other_seed = Gate("{seed: 7}");
  StreamConfig other_camera = Gate();
  other_camera.source.uri = "rtsp://c/2";
  other_camera.entry = absl::StrReplaceAll(other_camera.entry, {{"rtsp://c/1", "rtsp://c/2"}});
  ASSERT_TRUE(changes_.Create(Gate()).ok());
  for (const StreamConfig& next : {Gate(), other_camera}) {
    starting_ = [](const StreamConfig& /*config*/, const std::stop_token&) {
      return absl::InternalError("no memory");
    };
    EXPECT_FALSE(changes_.Update({.name = "gate"}, other_seed, false).ok());
    EXPECT_FALSE(Served("gate")->stream->running());
    starting_ = nullptr;
    const auto updated = changes_.Update({.name = "gate"}, next, false);
    ASSERT_TRUE(updated.ok()) << updated.status();
    EXPECT_TRUE(Served("gate")->stream->running());
    EXPECT_EQ(Served("gate")->config().entry, next.entry);
  }
}

TEST_F(StreamChangesTest, WhatStartsAsTheServerStopsTakesNoPlace) {
  const SharedStream old = Served("street");
  starting_ = [this](const StreamConfig& /*config*/, const std::stop_token&) {
    streams_.Stop();
    return absl::OkStatus();
  };
  const grpc::Status updated = Update("street", kOtherSeed, "", /*allow_reset=*/true);
  EXPECT_EQ(updated.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(updated), "SERVER_STOPS");
  EXPECT_EQ(Served("street"), old);
  const grpc::Status created = Create(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})");
  EXPECT_EQ(created.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(created), "SERVER_STOPS");
  EXPECT_TRUE(DetailsOf(created).has_retry);
}

TEST_F(StreamChangesTest, AChangeThatIsCancelledIsNone) {
  const std::string run = Served("street")->run_id;
  StartUntilCancelled();
  grpc::ClientContext context;
  v1::UpdateStreamRequest request;
  request.set_stream("street");
  *request.mutable_config() = StructOf(kOtherSeed);
  request.set_allow_reset(true);
  v1::UpdateStreamResponse response;
  std::jthread impatient([&] {
    AwaitStart();
    context.TryCancel();
  });
  EXPECT_EQ(stub_->UpdateStream(&context, request, &response).error_code(),
            grpc::StatusCode::CANCELLED);
  AwaitChanges("street");
  EXPECT_EQ(Served("street")->run_id, run);
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u);
}

TEST_F(StreamChangesTest, AChangeWhoseDeadlinePassesIsNone) {
  const std::string run = Served("street")->run_id;
  StartUntilCancelled();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  v1::UpdateStreamRequest request;
  request.set_stream("street");
  *request.mutable_config() = StructOf(kOtherSeed);
  request.set_allow_reset(true);
  v1::UpdateStreamResponse response;
  EXPECT_EQ(stub_->UpdateStream(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  AwaitChanges("street");
  EXPECT_EQ(Served("street")->run_id, run);
  EXPECT_TRUE(street().running());
}

TEST_F(StreamChangesTest, ACallsTokenDoesNotOutliveItsCall) {
  std::stop_source call;
  const StreamConfig config = Parsed(R"({"name": "street", "source": {"uri": "rtsp://camera/2"}})");
  ASSERT_TRUE(changes_.Update({.name = "street", .stop = call.get_token()}, config, false).ok());
  call.request_stop();
  starting_ = [](const StreamConfig& /*config*/, const std::stop_token& stop) {
    return stop.stop_requested() ? absl::CancelledError("") : absl::OkStatus();
  };
  EXPECT_TRUE(changes_.Reset({.name = "street"}).ok());
}

TEST_F(StreamChangesTest, ANumberWrittenInAnotherWayChangesNothing) {
  ASSERT_TRUE(changes_.Create(Parsed("{name: gate, source: {uri: 'test:', max_fps: 10.0}}")).ok());
  ASSERT_TRUE(Update("gate", R"({"source": {"uri": "test:", "max_fps": 10}})").ok());
  EXPECT_THAT(*fakes_["gate"].sources, SizeIs(1));
}

TEST_F(StreamChangesTest, AWideSeedComesBackAsItWasOrIsRefused) {
  constexpr char kExact[] =
      R"({"name": "gate", "source": {"uri": "test:"}, "model": {"seed": "9007199254740993"}})";
  ASSERT_TRUE(Create(kExact).ok());
  EXPECT_EQ(Served("gate")->config().learner.seed, 9007199254740993u);
  const std::string shown = JsonOf(stream_.config());
  EXPECT_THAT(shown, HasSubstr(R"("seed":"9007199254740993")"));
  const std::string run = Served("gate")->run_id;
  ASSERT_TRUE(Update("gate", shown).ok());
  EXPECT_EQ(Served("gate")->run_id, run);

  const grpc::Status rounded =
      Create(R"({"name": "b", "source": {"uri": "test:"}, "model": {"seed": 9007199254740993}})");
  EXPECT_EQ(rounded.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(rounded).bad_request.field_violations(0).field(), "config.model.seed");
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

}  // namespace
}  // namespace millrace::service
