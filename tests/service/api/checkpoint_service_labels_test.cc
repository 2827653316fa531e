// The checkpoints of a stream that learns from labels: listed, gone back to and set aside as those
// of any other.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/api/checkpoint_service.h"
#include "tests/base/temporary_folder.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The stream "door" learns classes, and keeps checkpoints.
class LabelCheckpointsTest : public GrpcFixture {
 protected:
  LabelCheckpointsTest() { MILLRACE_CHECK(changes_.Create(Door()).ok()); }

  /// As a file or a client says it.
  [[nodiscard]] StreamConfig Door(const std::string& more = "") const {
    auto config = ParseStreamEntry(
        absl::StrCat("{name: door, source: {uri: 'test:ball'}, checkpoints: {folder: '",
                     temporary_.path().string(), "'}, model: {task: classification, outputs: 3",
                     more, "}}"),
        "config", StreamConfig());
    MILLRACE_CHECK(config.ok());
    return *config;
  }

  /// A whole checkpoint after `sample`, of no stages.
  [[nodiscard]] std::string Write(std::int64_t sample) const {
    const std::string name = pipeline::CheckpointName(sample);
    fs::create_directories(folder_ / name);
    pipeline::CheckpointManifest manifest;
    manifest.sample = sample;
    manifest.score = 0.5;
    EXPECT_TRUE(WriteFileAtomically((folder_ / name / pipeline::kManifestFile).string(),
                                    pipeline::EncodeManifest(manifest))
                    .ok());
    return name;
  }

  std::vector<std::string> Names() {
    grpc::ClientContext context;
    v1::ListCheckpointsRequest request;
    request.set_stream("door");
    v1::ListCheckpointsResponse response;
    const grpc::Status status = stub_->ListCheckpoints(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> names;
    for (const auto& checkpoint : response.checkpoints()) names.push_back(checkpoint.name());
    return names;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path() / "door";
  std::unique_ptr<v1::CheckpointService::Stub> stub_ = v1::CheckpointService::NewStub(channel_);
};

TEST_F(LabelCheckpointsTest, AreListedAndDeleted) {
  EXPECT_EQ(Served("door")->config().learner.checkpoints.folder, folder_);
  const std::string first = Write(99);
  const std::string second = Write(199);
  EXPECT_THAT(Names(), ElementsAre(second, first));
  grpc::ClientContext context;
  v1::DeleteCheckpointRequest request;
  request.set_stream("door");
  request.set_name(second);
  v1::DeleteCheckpointResponse response;
  EXPECT_TRUE(stub_->DeleteCheckpoint(&context, request, &response).ok());
  EXPECT_THAT(Names(), ElementsAre(first));
}

TEST_F(LabelCheckpointsTest, AChangedLearnerGoesOnFromThem) {
  const std::string run = Served("door")->run_id;
  const auto updated =
      changes_.Update({.name = "door"}, Door(", window: 32"), /*allow_reset=*/false);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_NE(Served("door")->run_id, run);
}

TEST_F(LabelCheckpointsTest, AreGoneBackToAndThenSetAsideByAReset) {
  const std::string first = Write(99);
  (void)Write(199);
  ASSERT_TRUE(changes_.Restore({.name = "door"}, first).ok());
  EXPECT_THAT(Names(), ElementsAre(first));
  ASSERT_TRUE(changes_.Reset({.name = "door"}).ok());
  EXPECT_THAT(Names(), IsEmpty());
}

}  // namespace
}  // namespace millrace::service
