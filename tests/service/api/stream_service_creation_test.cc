// Streams that clients of StreamService add and delete, against a real server whose cameras and
// networks the test is.
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ingest/support/logged.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/stream_changes.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(StreamChangesTest, AStreamIsAddedAndLearnsAndShowsWhatItWasMadeOf) {
  ASSERT_TRUE(
      Create(R"({"name": "gate", "source": {"uri": "rtsp://me:pw@camera/9", "max_fps": 5}})").ok());
  EXPECT_THAT(Names(), ElementsAre("street", "yard", "gate"));
  EXPECT_EQ(stream_.name(), "gate");
  EXPECT_THAT(JsonOf(stream_.config()), HasSubstr(R"("max_fps":5)"));
  EXPECT_THAT(JsonOf(stream_.config()), HasSubstr(R"("uri":"rtsp://***@camera/9")"));
  EXPECT_FALSE(stream_.etag().empty());
  EXPECT_FALSE(stream_.run_id().empty());
  Film(fakes_["gate"], 3);
  EXPECT_EQ(Served("gate")->stream->Snapshot().frames.predicted, 2u);
}

TEST_F(StreamChangesTest, AStreamThatTheDevicesHaveNoRoomForIsRefusedWithTheFigure) {
  budget_gate_.SetBudget({.cores = 2.5});
  const std::string gate = R"({"name": "gate", "source": {"uri": "rtsp://camera/9")";
  const grpc::Status status = Create(gate + "}}");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.info.reason(), "DEVICE_BUDGET_EXCEEDED");
  EXPECT_EQ(details.info.metadata().at("device"), "cpu");
  EXPECT_EQ(details.info.metadata().at("needed"), "2.15");
  EXPECT_THAT(status.error_message(), HasSubstr("and of 2.5 there are"));
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
}

// Its operator could not tell from the log why a camera had gone.
TEST_F(StreamChangesTest, TheLogSaysWhatAClientDidAndFromWhere) {
  const ingest::Logged logged;
  ASSERT_TRUE(Create(R"({"name": "gate", "source": {"uri": "rtsp://me:pw@camera/9"}})").ok());
  ASSERT_TRUE(Update("gate", R"({"source": {"uri": "rtsp://me:pw@camera/8", "max_fps": 5}})").ok());
  ASSERT_TRUE(Delete("gate").ok());
  EXPECT_EQ(Create("{}").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Delete("gate").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(logged.text(),
              AllOf(HasSubstr("info stream 'gate': a client at 127.0.0.1 has added it\n"),
                    HasSubstr("info stream 'gate': a client at 127.0.0.1 has changed "
                              "source.max_fps, source.uri\n"),
                    HasSubstr("info stream 'gate': a client at 127.0.0.1 has deleted it\n"),
                    Not(HasSubstr("camera/")), Not(HasSubstr("pw"))));
}

// Its content stays, whichever process made it.
TEST_F(StreamChangesTest, AFolderOfCheckpointsThatIsEmptyGoesWithItsStream) {
  const TemporaryFolder base;
  const std::filesystem::path folder = base.path() / "gate";
  for (const bool is_empty : {true, false}) {
    StreamConfig config = Parsed(R"({"name": "gate", "source": {"uri": "rtsp://camera/9"}})");
    config.learner.checkpoints.folder = folder.string();
    std::filesystem::create_directories(folder);
    if (!is_empty) std::ofstream(folder / "notes.txt") << "mine";
    ASSERT_TRUE(changes_.Create(config).ok());
    ASSERT_TRUE(Delete("gate").ok());
    EXPECT_EQ(std::filesystem::exists(folder), !is_empty);
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "notes.txt"));
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
  EXPECT_THAT(fields, UnorderedElementsAre("config.name", "config.source.max_fbs", "config.model"));
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
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_STREAMS");
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

TEST_F(StreamChangesTest, ACallThatIsCancelledWhileTheStreamStartsLeavesNone) {
  StartUntilCancelled();
  grpc::ClientContext context;
  v1::CreateStreamRequest request;
  *request.mutable_config() = StructOf(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})");
  v1::CreateStreamResponse response;
  std::jthread impatient([&] {
    AwaitStart();
    context.TryCancel();
  });
  EXPECT_EQ(stub_->CreateStream(&context, request, &response).error_code(),
            grpc::StatusCode::CANCELLED);
  AwaitChanges("gate");
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
}

TEST_F(StreamChangesTest, ACallWhoseDeadlinePassesLeavesNone) {
  StartUntilCancelled();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  v1::CreateStreamRequest request;
  *request.mutable_config() = StructOf(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})");
  v1::CreateStreamResponse response;
  EXPECT_EQ(stub_->CreateStream(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  AwaitChanges("gate");
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
}

TEST_F(StreamChangesTest, ACancelInTheLastMomentLeavesNoneEither) {
  std::stop_source call;
  starting_ = [&](const StreamConfig& /*config*/, const std::stop_token&) {
    call.request_stop();  // Too late for what starts.
    return absl::OkStatus();
  };
  const StreamConfig config = Parsed(R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})");
  EXPECT_TRUE(absl::IsCancelled(changes_.Create(config, call.get_token()).status()));
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
  std::deque<StreamEvent> now;
  (void)events_.Watch("gate", now);
  EXPECT_THAT(now, SizeIs(0));
}

TEST_F(StreamChangesTest, AStartThatThrowsFailsAloneAndTheServerLivesOn) {
  constexpr char kGate[] = R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})";
  starting_ = [](const auto& /*config*/, const std::stop_token&) -> absl::Status {
    throw std::runtime_error("cuda says no");
  };
  grpc::Status status = Create(kGate);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("cuda says no"));
  starting_ = [](const auto& /*config*/, const std::stop_token&) -> absl::Status { throw 7; };
  status = Create(kGate);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("it threw something"));
  starting_ = nullptr;
  EXPECT_TRUE(Create(kGate).ok());
}

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

}  // namespace
}  // namespace millrace::service
