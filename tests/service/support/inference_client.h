// A client of the Open Inference Protocol.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/open_inference_grpc.grpc.pb.h"

namespace millrace::service {

inline constexpr int kInputWidth = 8;
inline constexpr int kInputHeight = 6;
inline constexpr std::size_t kPictureBytes = std::size_t{3} * kInputWidth * kInputHeight;

/// Two pictures, the second all `value`.
inline inference::ModelInferRequest Asking(const std::string& model, char value = 7) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name("pictures");
  input.set_datatype("UINT8");
  for (const int size : {2, kInputHeight, kInputWidth, 3}) input.add_shape(size);
  request.add_raw_input_contents(std::string(kPictureBytes, 1) + std::string(kPictureBytes, value));
  return request;
}

inline inference::ModelInferRequest Subscribing(const std::string& model,
                                                const std::string& id = "") {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  request.set_id(id);
  return request;
}

inline std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

/// A client's call of ModelStreamInfer.
class Streaming {
 public:
  explicit Streaming(inference::GRPCInferenceService::Stub& stub)
      : call_(stub.ModelStreamInfer(&context_)) {
    call_->WaitForInitialMetadata();
  }
  Streaming(const Streaming&) = delete;
  Streaming& operator=(const Streaming&) = delete;
  ~Streaming() {
    Cancel();
    if (!ended_) End();
  }

  void Write(const inference::ModelInferRequest& request) { call_->Write(request); }
  void Cancel() { context_.TryCancel(); }
  void Close() { call_->WritesDone(); }
  std::optional<inference::ModelInferResponse> Next() {
    inference::ModelStreamInferResponse response;
    if (!call_->Read(&response)) return std::nullopt;
    EXPECT_EQ(response.error_message(), "");
    return response.infer_response();
  }
  grpc::Status End() {
    ended_ = true;
    return call_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelStreamInferResponse>>
      call_;
  bool ended_ = false;
};

}  // namespace millrace::service
