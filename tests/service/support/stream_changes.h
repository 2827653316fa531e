// A client of StreamService that changes something.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "service/api/stream_service.h"
#include "service/config/config_entry.h"
#include "tests/base/temporary_folder.h"
#include "tests/service/support/grpc_fixture.h"

namespace millrace::service {

inline google::protobuf::Struct StructOf(const std::string& json) {
  google::protobuf::Struct config;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &config).ok()) << json;
  return config;
}

inline std::string JsonOf(const google::protobuf::Struct& config) {
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(config, &json).ok());
  return json;
}

class StreamChangesTest : public GrpcFixture {
 protected:
  StreamChangesTest() = default;
  using GrpcFixture::GrpcFixture;

  grpc::Status Create(const std::string& json) {
    grpc::ClientContext context;
    v1::CreateStreamRequest request;
    *request.mutable_config() = StructOf(json);
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
    *request.mutable_config() = StructOf(json);
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
    for (const SharedStream& served : streams_.All()) {
      names.push_back(served->stream->config().name);
    }
    return names;
  }

  /// As a client's entry says it.
  static StreamConfig Parsed(const std::string& entry) {
    const auto config = ParseStreamEntry(entry, "config", StreamConfig());
    EXPECT_TRUE(config.ok()) << config.status();
    return *config;
  }

  /// The stream "gate", which keeps checkpoints.
  StreamConfig Gate(const std::string& model = "{}") {
    return Parsed(absl::StrCat("{name: gate, source: {uri: 'rtsp://c/1'}, checkpoints: {folder: '",
                               temporary_.path().string(), "'}, model: ", model, "}"));
  }

  const TemporaryFolder temporary_;
  std::unique_ptr<v1::StreamService::Stub> stub_ = v1::StreamService::NewStub(channel_);
  v1::Stream stream_;  // Of the last answer.
};

}  // namespace millrace::service
