// A client that pushes frames, and its server's answers in short.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "millrace/v1/frame_service.grpc.pb.h"

namespace millrace::service {

/// Of the frames that it pushes unless it is told otherwise.
inline constexpr int kFrameWidth = 4;
inline constexpr int kFrameHeight = 2;

/// The client's side of a call.
class PushClient {
 public:
  using Deadline = std::optional<std::chrono::system_clock::time_point>;

  explicit PushClient(const std::shared_ptr<grpc::Channel>& channel, const Deadline& deadline = {})
      : stub_(v1::FrameService::NewStub(channel)) {
    if (deadline) context_.set_deadline(*deadline);
    call_ = stub_->Push(&context_);
  }
  ~PushClient() {
    if (!ended_) context_.TryCancel();
    if (!ended_) End();
  }

  PushClient(const PushClient&) = delete;
  PushClient& operator=(const PushClient&) = delete;

  /// Takes the place in `stream` and waits until it has it, or the call has ended.
  void Begin(const std::string& stream) {
    v1::PushRequest request;
    request.set_stream(stream);
    call_->Write(request);
    call_->WaitForInitialMetadata();
  }

  bool Write(const v1::PushRequest& request) { return call_->Write(request); }
  bool Push(const std::string& id, std::optional<std::int64_t> second = {}) {
    return Write(Frame(id, kFrameWidth, kFrameHeight, second));
  }

  static v1::PushRequest Frame(const std::string& id, int width, int height,
                               std::optional<std::int64_t> second = {}) {
    v1::PushRequest request;
    v1::PushedFrame& frame = *request.mutable_frame();
    frame.set_id(id);
    if (second) frame.mutable_capture_time()->set_seconds(*second);
    frame.mutable_raw()->set_format(v1::PIXEL_FORMAT_RGB);
    frame.mutable_raw()->set_width(width);
    frame.mutable_raw()->set_height(height);
    frame.mutable_raw()->set_data(std::string(std::size_t{3} * width * height, '\x40'));
    return request;
  }

  v1::PushResponse Read() {
    v1::PushResponse response;
    EXPECT_TRUE(call_->Read(&response));
    return response;
  }
  /// All that come.
  std::vector<v1::PushResponse> ReadAll() {
    std::vector<v1::PushResponse> all;
    for (v1::PushResponse next; call_->Read(&next);) all.push_back(next);
    return all;
  }
  void Done() { call_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status End() {
    ended_ = true;
    return call_->Finish();
  }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<v1::FrameService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::PushRequest, v1::PushResponse>> call_;
  bool ended_ = false;
};

inline std::string Said(const v1::PushResponse& response) {
  switch (response.outcome_case()) {
    case v1::PushResponse::kPrediction:
      return absl::StrCat(response.id(), " predicted ", response.prediction().frame_number());
    case v1::PushResponse::kDropped:
      return absl::StrCat(response.id(), " ", v1::DropReason_Name(response.dropped()));
    case v1::PushResponse::kSkipped:
      return absl::StrCat(response.id(), " skipped");
    case v1::PushResponse::kRefused:
      return absl::StrCat(response.id(), " refused: ", response.refused().message());
    case v1::PushResponse::OUTCOME_NOT_SET:
      break;
  }
  return "nothing";
}

inline std::vector<std::string> Said(const std::vector<v1::PushResponse>& responses) {
  std::vector<std::string> said;
  for (const v1::PushResponse& response : responses) said.push_back(Said(response));
  return said;
}

}  // namespace millrace::service
