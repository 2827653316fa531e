// The refusals of StreamService, with their messages.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "service/config/config_entry.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/stream_changes.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kGate[] = R"({"name": "gate", "source": {"uri": "rtsp://c/1"}})";
constexpr char kOtherSeed[] = R"({"source": {"uri": "rtsp://***@camera/1"},
                                  "model": {"seed": 7}})";

class StreamServiceRefusalsTest : public StreamChangesTest {
 protected:
  /// That a change was refused as one of a source that is not for clients, by that key.
  static void ExpectNotAllowed(const grpc::Status& status, const std::string& key) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
    const ErrorDetails details = DetailsOf(status);
    EXPECT_EQ(details.info.reason(), "SOURCE_NOT_ALLOWED");
    EXPECT_EQ(details.info.metadata().at("key"), key);
  }
};

TEST_F(StreamServiceRefusalsTest, AChangeToASourceThatIsNotForClientsChangesNothing) {
  for (const char* uri : {"file:///etc/passwd", "/etc/passwd", "v4l2:/dev/video0"}) {
    ExpectNotAllowed(Update("street", absl::StrCat(R"({"source": {"uri": ")", uri, R"("}})")),
                     "client_sources.schemes");
  }
  ExpectNotAllowed(Update("street", R"({"source": {"uri": "rtsp://***@camera/1"},
                                        "model": {"weights": "w.bin"}})",
                          "", /*allow_reset=*/true),
                   "client_sources.files");
  EXPECT_EQ(street().Snapshot().uri, "rtsp://***@camera/1");
  EXPECT_THAT(*street_.sources, SizeIs(1));
}

TEST_F(StreamServiceRefusalsTest, AChangeThatWouldSendAPasswordElsewhereChangesNothing) {
  const auto with_password = [](const std::string& uri) {
    return absl::StrCat(R"({"name": "gate", "source": {"uri": ")", uri,
                        R"(", "user": "me", "password_file": "/run/secrets/gate"}})");
  };
  ASSERT_TRUE(changes_.Create(Parsed(with_password("rtsp://camera/1"))).ok());
  for (const char* uri : {"rtsp://elsewhere/1", "rtsp://camera:8554/1", "rtsps://camera/1"}) {
    ExpectNotAllowed(Update("gate", with_password(uri)), "client_sources.files");
  }
  EXPECT_EQ(Served("gate")->stream->Snapshot().uri, "rtsp://camera/1");
  EXPECT_TRUE(Update("gate", with_password("rtsp://camera/2")).ok()) << "to the same camera it may";
}

TEST_F(StreamServiceRefusalsTest, AChangeNamesEveryFieldThatIsWrong) {
  const grpc::Status status =
      Update("street", R"({"source": {"uri": "rtsp://c/1", "max_fbs": 5}, "model": 3})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.info.reason(), "INVALID_FIELD");
  std::vector<std::string> fields;
  for (const auto& violation : details.bad_request.field_violations()) {
    fields.push_back(violation.field());
  }
  EXPECT_THAT(fields, UnorderedElementsAre("config.source.max_fbs", "config.model"));
  EXPECT_THAT(status.error_message(), HasSubstr("did you mean 'max_fps'?"));
}

TEST_F(StreamServiceRefusalsTest, AChangeOfAStreamThatThereIsNotIsNotFound) {
  const grpc::Status status = Update("gate", R"({"source": {"uri": "rtsp://c/1"}})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "STREAM_NOT_FOUND");
}

TEST_F(StreamServiceRefusalsTest, AChangeToASourceThatThereIsNotIsNotFound) {
  // A file is not for clients, but one that the stream has already may stay.
  StreamConfig config = Served("street")->config();
  config.entry = absl::StrCat(R"({"name":"street","source":{"uri":")", kNoSuchSource, R"("}})");
  Served("street")->SetConfig(config);
  const grpc::Status status = Update(
      "street", absl::StrCat(R"({"source": {"uri": ")", kNoSuchSource, R"(", "max_fps": 5}})"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "stream 'street': there is no such source");
  EXPECT_EQ(Served("street")->config().entry, config.entry);
}

// Whatever a learner cannot be made with: a file of weights that is not there or is damaged,
// checkpoints of another network.
TEST_F(StreamServiceRefusalsTest, WhatALearnerCannotBeMadeWithIsToldAsItIs) {
  for (const auto& [code, name] :
       {std::pair{absl::StatusCode::kNotFound, "NOT_FOUND"},
        std::pair{absl::StatusCode::kDataLoss, "DATA_LOSS"},
        std::pair{absl::StatusCode::kFailedPrecondition, "FAILED_PRECONDITION"}}) {
    const std::string run = Served("street")->run_id;
    for (const bool is_new : {true, false}) {
      start_fails_ = absl::Status(code, "it cannot be used");
      const grpc::Status status =
          is_new ? Create(kGate) : Update("street", kOtherSeed, "", /*allow_reset=*/true);
      EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(code));
      EXPECT_EQ(ReasonOf(status), name);
      EXPECT_EQ(status.error_message(), "it cannot be used");
    }
    EXPECT_EQ(Served("street")->run_id, run);
    EXPECT_THAT(Names(), SizeIs(2));
  }
}

TEST_F(StreamServiceRefusalsTest, AChangeThatTheDevicesHaveNoRoomForIsRefusedWithTheFigure) {
  // Other cameras, with unknown rates.
  const auto with_rate = [](int rate) {
    return absl::StrCat(R"({"source": {"uri": "rtsp://camera/)", rate, R"(", "max_fps": )", rate,
                        "}}");
  };
  ASSERT_TRUE(Update("yard", with_rate(10)).ok());
  const std::string etag = stream_.etag();
  // Another takes 0.86 of them, and the yard as much.
  budget_gate_.SetBudget({.cores = 2.36});
  const grpc::Status status = Update("yard", with_rate(20));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.info.reason(), "DEVICE_BUDGET_EXCEEDED");
  EXPECT_EQ(details.info.metadata().at("stream"), "yard");
  EXPECT_EQ(details.info.metadata().at("needed"), "1.72");
  EXPECT_EQ(details.info.metadata().at("left"), "1.50");
  EXPECT_EQ(EtagOf(Served("yard")->config().entry), etag);
}

}  // namespace
}  // namespace millrace::service
