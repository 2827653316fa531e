// A client of CheckpointService, and a stream that keeps checkpoints.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "service/api/checkpoint_service.h"
#include "tests/base/temporary_folder.h"
#include "tests/service/support/checkpoint_on_disk.h"
#include "tests/service/support/grpc_fixture.h"

namespace millrace::service {

/// The stream "street" keeps checkpoints; "yard" does not.
class CheckpointServiceTest : public GrpcFixture {
 protected:
  CheckpointServiceTest() : CheckpointServiceTest(GrpcServer::Options()) {}
  explicit CheckpointServiceTest(const GrpcServer::Options& server)
      : GrpcFixture(FakeStreamOptions(), server) {
    StreamConfig config = Served("street")->config();
    config.learner.checkpoints.folder = folder_;
    Served("street")->SetConfig(config);
  }

  std::string Write(std::int64_t sample, double score = 0.5, int stages = 2) const {
    return WriteCheckpoint(folder_, sample, score, stages);
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
  const std::filesystem::path& folder_ = temporary_.path();
  std::unique_ptr<v1::CheckpointService::Stub> stub_ = v1::CheckpointService::NewStub(channel_);
  v1::Checkpoint checkpoint_;
  v1::ListCheckpointsResponse list_;
  std::vector<std::string> order_;
};

}  // namespace millrace::service
