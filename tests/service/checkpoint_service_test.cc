#include "service/checkpoint_service.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "pipeline/checkpoint_folders.h"
#include "pipeline/checksum.h"
#include "tests/base/temporary_folder.h"
#include "tests/service/error_details.h"
#include "tests/service/grpc_fixture.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The stream "street" keeps checkpoints; "yard" keeps none.
class CheckpointServiceTest : public GrpcFixture {
 protected:
  CheckpointServiceTest() {
    StreamConfig config = Served("street")->config();
    config.learner.checkpoints.folder = folder_;
    Served("street")->SetConfig(config);
  }

  /// A checkpoint after `sample`, of two stages' files.
  std::string Write(std::int64_t sample, double score = 0.5) const {
    const std::string name = pipeline::CheckpointName(sample);
    const fs::path path = folder_ / name;
    fs::create_directories(path);
    pipeline::CheckpointManifest manifest;
    manifest.sample = sample;
    manifest.score = score;
    for (const char* stage : {"stage-1.safetensors", "stage-2.safetensors"}) {
      const std::string bytes(1'500'000, stage[6]);
      EXPECT_TRUE(WriteFileAtomically((path / stage).string(), bytes).ok());
      manifest.stages.push_back(
          {.name = stage, .bytes = bytes.size(), .checksum = pipeline::Checksum(bytes)});
    }
    EXPECT_TRUE(WriteFileAtomically((path / pipeline::kManifestFile).string(),
                                    pipeline::EncodeManifest(manifest))
                    .ok());
    return name;
  }

  template <typename Request>
  static Request Of(const std::string& stream, const std::string& name) {
    Request request;
    request.set_stream(stream);
    request.set_name(name);
    return request;
  }

  grpc::Status Create(const std::string& stream = "street",
                      std::chrono::seconds limit = std::chrono::seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    v1::CreateCheckpointRequest request;
    request.set_stream(stream);
    v1::CreateCheckpointResponse response;
    const grpc::Status status = stub_->CreateCheckpoint(&context, request, &response);
    checkpoint_ = response.checkpoint();
    return status;
  }

  grpc::Status List(const std::string& stream = "street") {
    grpc::ClientContext context;
    v1::ListCheckpointsRequest request;
    request.set_stream(stream);
    list_.Clear();
    return stub_->ListCheckpoints(&context, request, &list_);
  }

  std::vector<std::string> Names() {
    EXPECT_TRUE(List().ok());
    std::vector<std::string> names;
    for (const v1::Checkpoint& checkpoint : list_.checkpoints()) names.push_back(checkpoint.name());
    return names;
  }

  grpc::Status Restore(const std::string& name, const std::string& stream = "street") {
    grpc::ClientContext context;
    v1::RestoreCheckpointResponse response;
    return stub_->RestoreCheckpoint(&context, Of<v1::RestoreCheckpointRequest>(stream, name),
                                    &response);
  }

  grpc::Status Delete(const std::string& name, const std::string& stream = "street") {
    grpc::ClientContext context;
    v1::DeleteCheckpointResponse response;
    return stub_->DeleteCheckpoint(&context, Of<v1::DeleteCheckpointRequest>(stream, name),
                                   &response);
  }

  /// The files of a checkpoint by name, in `order_`.
  grpc::Status Download(const std::string& name, std::map<std::string, std::string>& files,
                        const std::string& stream = "street") {
    grpc::ClientContext context;
    const auto reader =
        stub_->DownloadCheckpoint(&context, Of<v1::DownloadCheckpointRequest>(stream, name));
    v1::DownloadCheckpointResponse piece;
    while (reader->Read(&piece)) {
      if (!files.contains(piece.file())) order_.push_back(piece.file());
      files[piece.file()] += piece.data();
      EXPECT_LE(files[piece.file()].size(), piece.file_bytes());
    }
    return reader->Finish();
  }

  const TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
  std::unique_ptr<v1::CheckpointService::Stub> stub_ = v1::CheckpointService::NewStub(channel_);
  v1::Checkpoint checkpoint_;
  v1::ListCheckpointsResponse list_;
  std::vector<std::string> order_;
};

TEST_F(CheckpointServiceTest, ListsWhatIsCompleteNewestFirst) {
  Write(99, 0.75);
  const std::string newest = Write(199);
  fs::create_directories(folder_ / pipeline::CheckpointName(299));  // It was never finished.
  EXPECT_THAT(Names(), ElementsAre(newest, "checkpoint-000000000099"));
  const v1::Checkpoint& oldest = list_.checkpoints(1);
  EXPECT_EQ(oldest.stream(), "street");
  EXPECT_EQ(oldest.sample(), 99);
  EXPECT_EQ(oldest.score(), 0.75);
  EXPECT_EQ(oldest.bytes(), 3'000'000u);
  EXPECT_FALSE(oldest.kept());
  EXPECT_GT(oldest.create_time().seconds(), 1'600'000'000);
}

TEST_F(CheckpointServiceTest, OneThatWasAskedForComesWhenItIsWrittenAndIsKept) {
  std::jthread writer([this] {
    while (street_.learner->checkpoints_asked_for == 0) std::this_thread::yield();
    Write(199);
    street_.on_checkpoint(absl::OkStatus());
  });
  ASSERT_TRUE(Create().ok());
  EXPECT_EQ(checkpoint_.name(), "checkpoint-000000000199");
  EXPECT_TRUE(checkpoint_.kept());
  EXPECT_TRUE(pipeline::IsKept(folder_ / "checkpoint-000000000199"));
}

TEST_F(CheckpointServiceTest, WhyNoneCouldBeWrittenIsTold) {
  std::jthread writer([this] {
    while (street_.learner->checkpoints_asked_for == 0) std::this_thread::yield();
    street_.on_checkpoint(absl::ResourceExhaustedError("no space left on the disk"));
  });
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "no space left on the disk");
}

TEST_F(CheckpointServiceTest, WhoWaitsIsToldWhenTheStreamEndsOrTimeIsUp) {
  EXPECT_EQ(Create("street", std::chrono::seconds(1)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  std::jthread deleter([this] {
    while (street_.learner->checkpoints_asked_for < 2) std::this_thread::yield();
    ASSERT_TRUE(control_.Delete({.name = "street"}).ok());
  });
  EXPECT_EQ(Create().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(CheckpointServiceTest, APausedLearnerProvesNoWeights) {
  ASSERT_TRUE(street().SetMode(LearnerState::kPaused).ok());
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("the learner is paused"));
}

TEST_F(CheckpointServiceTest, GoingBackSetsWhatIsNewerAside) {
  const std::string good = Write(99);
  const std::string older = Write(49);
  Write(199);
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Restore(good).ok());
  EXPECT_NE(Served("street")->run_id, run);
  EXPECT_THAT(Names(), ElementsAre(good, older));
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with("restored-2")) {
      ++aside;
      EXPECT_TRUE(fs::exists(entry.path() / "checkpoint-000000000199" / "manifest.json"));
    }
  }
  EXPECT_EQ(aside, 1);
}

TEST_F(CheckpointServiceTest, WhereGoingBackFailsNothingHasMoved) {
  const std::string good = Write(99);
  const std::string newest = Write(199);
  start_fails_ = absl::InternalError("no memory");
  EXPECT_EQ(Restore(good).error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(Names(), ElementsAre(newest, good));
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u) << "it runs on";
}

TEST_F(CheckpointServiceTest, ADamagedOneIsNotGoneBackTo) {
  const std::string name = Write(99);
  std::ofstream(folder_ / name / "stage-2.safetensors", std::ios::app) << "x";
  const std::string run = Served("street")->run_id;
  const grpc::Status status = Restore(name);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("has 1500001 bytes where 1500000 were written"));
  EXPECT_EQ(Served("street")->run_id, run) << "the stream goes on";
}

TEST_F(CheckpointServiceTest, ADeletedOneIsGone) {
  const std::string name = Write(99);
  ASSERT_TRUE(pipeline::Keep(folder_ / name).ok());
  ASSERT_TRUE(Delete(name).ok());
  EXPECT_FALSE(fs::exists(folder_ / name));
  const grpc::Status again = Delete(name);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(again), "CHECKPOINT_NOT_FOUND");
}

TEST_F(CheckpointServiceTest, DownloadsEveryFileWithTheManifestLast) {
  const std::string name = Write(99);
  std::map<std::string, std::string> files;
  ASSERT_TRUE(Download(name, files).ok());
  EXPECT_THAT(order_, ElementsAre("stage-2.safetensors", "stage-1.safetensors", "manifest.json"));
  EXPECT_EQ(files["stage-2.safetensors"], std::string(1'500'000, '2'));
  EXPECT_TRUE(pipeline::DecodeManifest(files["manifest.json"]).ok());
}

TEST_F(CheckpointServiceTest, WhatIsNotThereOrNotNamedIsSaid) {
  std::map<std::string, std::string> files;
  for (const auto& [status, code] : std::vector<std::pair<grpc::Status, grpc::StatusCode>>{
           {Restore("checkpoint-1"), grpc::StatusCode::NOT_FOUND},
           {Restore("../street"), grpc::StatusCode::NOT_FOUND},
           {Delete("..", "street"), grpc::StatusCode::NOT_FOUND},
           {Download("checkpoint-1", files), grpc::StatusCode::NOT_FOUND},
           {Create("gate"), grpc::StatusCode::NOT_FOUND},
           {List("gate"), grpc::StatusCode::NOT_FOUND},
           {Restore("x", "gate"), grpc::StatusCode::NOT_FOUND},
           {Delete("x", "gate"), grpc::StatusCode::NOT_FOUND},
           {Download("x", files, "gate"), grpc::StatusCode::NOT_FOUND},
           {Restore(""), grpc::StatusCode::INVALID_ARGUMENT},
           {Delete("x", ""), grpc::StatusCode::INVALID_ARGUMENT},
           {Download("", files), grpc::StatusCode::INVALID_ARGUMENT},
           {Create("yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {List("yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Restore("x", "yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Delete("x", "yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Download("x", files, "yard"), grpc::StatusCode::FAILED_PRECONDITION}}) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
  }
  EXPECT_TRUE(files.empty());
}

}  // namespace
}  // namespace millrace::service
