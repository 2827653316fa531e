// Checkpoints that clients download, and the ways in which a download ends.
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/access/call_counts.h"
#include "service/rpc/streaming_calls.h"
#include "tests/service/support/checkpoint_calls.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CheckpointServiceTest, DownloadsEveryFileWithTheManifestLast) {
  const std::string name = Write(99);
  std::map<std::string, std::string> files;
  ASSERT_TRUE(Download(name, files).ok());
  EXPECT_THAT(order_, ElementsAre("stage-2.safetensors", "stage-1.safetensors", "manifest.json"));
  EXPECT_EQ(files["stage-2.safetensors"], std::string(1'500'000, '2'));
  EXPECT_TRUE(pipeline::DecodeManifest(files["manifest.json"]).ok());
}

TEST_F(CheckpointServiceTest, ADownloadEndsWhereTheCheckpointIsDeletedMeanwhile) {
  const std::string name = Write(99, 0.5, /*stages=*/24);
  grpc::ClientContext context;
  const auto reader =
      stub_->DownloadCheckpoint(&context, Of<v1::DownloadCheckpointRequest>("street", name));
  v1::DownloadCheckpointResponse piece;
  ASSERT_TRUE(reader->Read(&piece));
  ASSERT_TRUE(Delete(name).ok());
  std::set<std::string> files;
  while (reader->Read(&piece)) files.insert(piece.file());
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("the checkpoint may have been removed"));
  EXPECT_THAT(files, Not(Contains("manifest.json"))) << "it is not taken for complete";
}

// It would be waited for on a thread of gRPC's.
TEST_F(CheckpointServiceTest, ADownloadEndsWhereAFileHasBecomeAPipe) {
  const std::string name = Write(99);
  const std::string file = folder_ / name / "stage-1.safetensors";
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  std::map<std::string, std::string> files;
  EXPECT_EQ(Download(name, files).error_code(), grpc::StatusCode::DATA_LOSS);
}

// More than a connection holds for a client that does not read. The server, when it ends, waits for
// every call that it still has.
TEST_F(CheckpointServiceTest, ADownloadThatNobodyWantsAnyMoreEnds) {
  const auto request = Of<v1::DownloadCheckpointRequest>("street", Write(99, 0.5, /*stages=*/24));
  v1::DownloadCheckpointResponse piece;
  {
    grpc::ClientContext context;
    const auto reader = stub_->DownloadCheckpoint(&context, request);
    ASSERT_TRUE(reader->Read(&piece));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  const auto reader = stub_->DownloadCheckpoint(&context, request);
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

class ImpatientCheckpointServiceTest : public CheckpointServiceTest {
 protected:
  ImpatientCheckpointServiceTest()
      : CheckpointServiceTest({.stall_limit = std::chrono::milliseconds(500)}) {}

  /// Downloads that have ended with RESOURCE_EXHAUSTED, whether their clients know or not.
  [[nodiscard]] std::uint64_t LetGo() const {
    for (const CallCounts::Method& method : calls_.Read()) {
      if (!method.name.ends_with("/DownloadCheckpoint")) continue;
      return method.calls[static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED)];
    }
    return 0;
  }
};

TEST_F(ImpatientCheckpointServiceTest, ADownloadOfWhichNothingIsTakenIsLetGoAndToldWhy) {
  const auto own = v1::CheckpointService::NewStub(NewChannel());
  grpc::ClientContext context;
  const auto reader = own->DownloadCheckpoint(
      &context, Of<v1::DownloadCheckpointRequest>("street", Write(99, 0.5, /*stages=*/24)));
  reader->WaitForInitialMetadata();
  while (LetGo() == 0) std::this_thread::yield();
  v1::DownloadCheckpointResponse piece;
  while (reader->Read(&piece)) continue;
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SLOW_SUBSCRIBER");
  EXPECT_EQ(DetailsOf(status).info.metadata().at("stream"), "street");
  EXPECT_THAT(status.error_message(), HasSubstr("this client took nothing for 0.5 s"));
}

TEST_F(CheckpointServiceTest, ADownloadIsRefusedWhereThereAreTooManySubscribers) {
  std::vector<std::unique_ptr<Subscriber>> all;
  for (std::size_t i = 0; i < StreamingCalls::kMax; ++i) {
    all.push_back(std::make_unique<Subscriber>(*channel_, To("yard")));
  }
  std::map<std::string, std::string> files;
  const std::string name = Write(99);
  const grpc::Status status = Download(name, files);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_SUBSCRIBERS");
}

}  // namespace
}  // namespace millrace::service
