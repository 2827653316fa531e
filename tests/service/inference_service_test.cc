// The Open Inference Protocol, at a real server over streams whose camera and network the test is.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inference/open_inference_grpc.grpc.pb.h"
#include "tests/service/error_details.h"
#include "tests/service/grpc_fixture.h"

namespace millrace::service {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kWidth = 8;
constexpr int kHeight = 6;
constexpr std::size_t kPictureBytes = std::size_t{3} * kWidth * kHeight;

/// Two pictures, the second all `value`.
ModelInferRequest Asking(const std::string& model, char value = 7) {
  ModelInferRequest request;
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name("pictures");
  input.set_datatype("UINT8");
  for (const int size : {2, kHeight, kWidth, 3}) input.add_shape(size);
  request.add_raw_input_contents(std::string(kPictureBytes, 1) + std::string(kPictureBytes, value));
  return request;
}

ModelInferRequest Subscribing(const std::string& model, const std::string& id = "") {
  ModelInferRequest request;
  request.set_model_name(model);
  request.set_id(id);
  return request;
}

std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

class InferenceServiceTest : public GrpcFixture {
 protected:
  InferenceServiceTest() = default;
  using GrpcFixture::GrpcFixture;
  using Stub = inference::GRPCInferenceService::Stub;

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    return (stub_.get()->*method)(&context, request, &response);
  }
  bool Ready(const std::string& model, const std::string& version = "") {
    inference::ModelReadyRequest request;
    request.set_name(model);
    request.set_version(version);
    inference::ModelReadyResponse response;
    EXPECT_TRUE(Call(&Stub::ModelReady, request, response).ok());
    return response.ready();
  }
  grpc::Status Infer(const ModelInferRequest& request) {
    response_.Clear();
    return Call(&Stub::ModelInfer, request, response_);
  }
  std::string WrongWith(const ModelInferRequest& request) {
    const grpc::Status status = Infer(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    const ErrorDetails details = DetailsOf(status);
    if (details.bad_request.field_violations_size() != 1) return status.error_message();
    return details.bad_request.field_violations(0).field();
  }

  std::unique_ptr<Stub> stub_ = inference::GRPCInferenceService::NewStub(channel_);
  ModelInferResponse response_;
};

/// A client's call of ModelStreamInfer.
class Streaming {
 public:
  explicit Streaming(inference::GRPCInferenceService::Stub& stub)
      : call_(stub.ModelStreamInfer(&context_)) {
    call_->WaitForInitialMetadata();
  }
  ~Streaming() {
    context_.TryCancel();
    if (!ended_) End();
  }

  void Write(const ModelInferRequest& request) { call_->Write(request); }
  void Close() { call_->WritesDone(); }
  std::optional<ModelInferResponse> Next() {
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
  std::unique_ptr<grpc::ClientReaderWriter<ModelInferRequest, inference::ModelStreamInferResponse>>
      call_;
  bool ended_ = false;
};

TEST_F(InferenceServiceTest, TellsWhatTheServerIs) {
  inference::ServerLiveResponse live;
  EXPECT_TRUE(Call(&Stub::ServerLive, inference::ServerLiveRequest(), live).ok());
  EXPECT_TRUE(live.live());
  inference::ServerMetadataResponse metadata;
  EXPECT_TRUE(Call(&Stub::ServerMetadata, inference::ServerMetadataRequest(), metadata).ok());
  EXPECT_EQ(metadata.name(), "millrace");
  EXPECT_NE(metadata.version(), "");
}

TEST_F(InferenceServiceTest, TheServerIsReadyUntilItDrains) {
  inference::ServerReadyResponse ready;
  EXPECT_TRUE(Call(&Stub::ServerReady, inference::ServerReadyRequest(), ready).ok());
  EXPECT_TRUE(ready.ready());
  server_->Drain();
  EXPECT_TRUE(Call(&Stub::ServerReady, inference::ServerReadyRequest(), ready).ok());
  EXPECT_FALSE(ready.ready());
}

TEST_F(InferenceServiceTest, AModelIsReadyWhileItWorks) {
  EXPECT_TRUE(Ready("street"));
  EXPECT_TRUE(Ready("street", "1"));
  EXPECT_FALSE(Ready("street", "2"));
  EXPECT_FALSE(Ready("road"));
  Film(street_, 2);
  street_.learner->Fail(absl::InternalError("the weights are gone"));
  street_.source->Push();
  while (street().Snapshot().learner.ok()) std::this_thread::yield();
  EXPECT_FALSE(Ready("street"));
  EXPECT_TRUE(Ready("yard"));
}

TEST_F(InferenceServiceTest, TellsWhatAModelTakesAndGives) {
  inference::ModelMetadataRequest request;
  request.set_name("street");
  inference::ModelMetadataResponse metadata;
  ASSERT_TRUE(Call(&Stub::ModelMetadata, request, metadata).ok());
  EXPECT_EQ(metadata.name(), "street");
  EXPECT_THAT(metadata.versions(), ElementsAre("1"));
  EXPECT_EQ(metadata.inputs(0).name(), "pictures");
  EXPECT_EQ(metadata.inputs(0).datatype(), "UINT8");
  EXPECT_THAT(metadata.inputs(0).shape(), ElementsAre(2, -1, -1, 3));
  EXPECT_EQ(metadata.outputs(0).name(), "flow");
  EXPECT_EQ(metadata.outputs(0).datatype(), "FP32");
  EXPECT_THAT(metadata.outputs(0).shape(), ElementsAre(2, 4, 2));

  request.set_name("road");
  const grpc::Status unknown = Call(&Stub::ModelMetadata, request, metadata);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_name("street");
  request.set_version("2");
  const grpc::Status version = Call(&Stub::ModelMetadata, request, metadata);
  EXPECT_EQ(version.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(version.error_message(), HasSubstr("leave it out"));
}

TEST_F(InferenceServiceTest, InfersFromPixels) {
  ModelInferRequest request = Asking("street");
  request.set_id("mine");
  const grpc::Status status = Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response_.model_name(), "street");
  EXPECT_EQ(response_.model_version(), "1");
  EXPECT_EQ(response_.id(), "mine");
  ASSERT_EQ(response_.outputs_size(), 1);
  EXPECT_EQ(response_.outputs(0).name(), "flow");
  EXPECT_EQ(response_.outputs(0).datatype(), "FP32");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(2, 4, 2));
  EXPECT_THAT(FloatsOf(response_.raw_output_contents(0)), Each(7));
  EXPECT_EQ(response_.parameters().at("update_count").int64_param(), 7);
  EXPECT_FALSE(response_.parameters().at("learned_from").bool_param());
}

TEST_F(InferenceServiceTest, InfersFromNumbersOneByOne) {
  ModelInferRequest request = Asking("street");
  auto& contents = *request.mutable_inputs(0)->mutable_contents();
  for (const char byte : request.raw_input_contents(0)) contents.add_uint_contents(byte);
  request.clear_raw_input_contents();
  ASSERT_TRUE(Infer(request).ok());
  EXPECT_THAT(FloatsOf(response_.raw_output_contents(0)), Each(7));
  contents.set_uint_contents(3, 256);
  EXPECT_EQ(WrongWith(request), "inputs[0].contents.uint_contents");
}

TEST_F(InferenceServiceTest, WhatIsWrongWithAnInputIsNamed) {
  std::vector<std::pair<ModelInferRequest, std::string>> cases(12, {Asking("street"), ""});
  cases[0].first.mutable_inputs(0)->set_name("images");
  cases[0].second = "inputs";
  cases[1].first.clear_inputs();
  cases[1].second = "inputs";
  cases[2].first.mutable_inputs(0)->set_datatype("FP32");
  cases[2].second = "inputs[0].datatype";
  cases[3].first.mutable_inputs(0)->set_shape(3, 4);
  cases[3].second = "inputs[0].shape";
  cases[4].first.mutable_inputs(0)->set_shape(1, 1LL << 62);
  cases[4].second = "inputs[0].shape";
  cases[5].first.mutable_raw_input_contents(0)->pop_back();
  cases[5].second = "inputs[0]";
  cases[6].first.mutable_inputs(0)->set_shape(0, 1);
  cases[6].first.set_raw_input_contents(0, std::string(kPictureBytes, 1));
  cases[6].second = "pictures";
  cases[7].first.add_outputs()->set_name("depth");
  cases[7].second = "outputs[0].name";
  cases[8].first.mutable_inputs(0)->set_datatype("BYTES");
  cases[8].second = "raw_input_contents[0]";
  // More images than any model takes, none of which costs the client anything.
  cases[9].first.mutable_inputs(0)->set_datatype("BYTES");
  cases[9].first.set_raw_input_contents(0, std::string(1 << 20, '\0'));
  cases[9].second = "raw_input_contents[0]";
  cases[10].first.mutable_inputs(0)->set_datatype("BYTES");
  cases[10].first.clear_raw_input_contents();
  for (int i = 0; i < 4; ++i) {
    cases[10].first.mutable_inputs(0)->mutable_contents()->add_bytes_contents("");
  }
  cases[10].second = "inputs[0].contents.bytes_contents";
  cases[11].first.set_id(std::string(257, 'x'));
  cases[11].second = "id";
  for (const auto& [request, field] : cases) {
    EXPECT_EQ(WrongWith(request), field) << request.ShortDebugString().substr(0, 200);
  }
}

TEST_F(InferenceServiceTest, ImagesAreDecoded) {
  // A JPEG that is none tells that it was looked at.
  ModelInferRequest request = Asking("street");
  auto& input = *request.mutable_inputs(0);
  input.set_datatype("BYTES");
  input.clear_shape();
  input.add_shape(2);
  request.set_raw_input_contents(0, std::string("\x02\0\0\0ab\x01\0\0\0c", 11));
  EXPECT_EQ(WrongWith(request), "pictures[0]");
  input.set_shape(0, 3);
  EXPECT_EQ(WrongWith(request), "inputs[0].shape");
  request.clear_raw_input_contents();
  input.set_shape(0, 2);
  input.mutable_contents()->add_bytes_contents("ab");
  input.mutable_contents()->add_bytes_contents("c");
  EXPECT_EQ(WrongWith(request), "pictures[0]");
}

TEST_F(InferenceServiceTest, UnknownModelsAndVersionsAreNotFound) {
  EXPECT_EQ(Infer(Asking("road")).error_code(), grpc::StatusCode::NOT_FOUND);
  ModelInferRequest request = Asking("street");
  request.set_model_version("3");
  EXPECT_EQ(Infer(request).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(InferenceServiceTest, AStreamOfInferencesIsASubscription) {
  Streaming streaming(*stub_);
  streaming.Write(Subscribing("street", "mine"));
  while (subscribers().active == 0) std::this_thread::yield();
  Film(street_, 4);
  for (int i = 0; i < 3; ++i) {
    const auto response = streaming.Next();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->id(), "mine");
    EXPECT_EQ(response->model_name(), "street");
    EXPECT_EQ(response->parameters().at("frame_number").int64_param(), i + 1);
    EXPECT_EQ(response->parameters().at("sequence").int64_param(), i + 1);
    EXPECT_EQ(response->parameters().at("run_id").string_param(), Served("street")->run_id);
    EXPECT_THAT(FloatsOf(response->raw_output_contents(0)), Each(i));
  }
  streaming.Close();
  EXPECT_FALSE(streaming.Next());
  EXPECT_TRUE(streaming.End().ok());
  while (subscribers().active > 0) std::this_thread::yield();
}

TEST_F(InferenceServiceTest, ASubscriptionGoesOnWhereAnEarlierOneStopped) {
  Film(street_, 4);
  ModelInferRequest request = Subscribing("street");
  auto& parameters = *request.mutable_parameters();
  parameters["run_id"].set_string_param(Served("street")->run_id);
  parameters["sequence"].set_int64_param(1);
  parameters["policy"].set_string_param("LOSSLESS");
  parameters["depth"].set_int64_param(8);
  Streaming streaming(*stub_);
  streaming.Write(request);
  EXPECT_EQ(streaming.Next()->parameters().at("sequence").int64_param(), 2);
}

TEST_F(InferenceServiceTest, ASubscriptionEndsWithItsStream) {
  Streaming streaming(*stub_);
  streaming.Write(Subscribing("street"));
  while (subscribers().active == 0) std::this_thread::yield();
  street_.source->End();
  EXPECT_FALSE(streaming.Next());
  EXPECT_TRUE(streaming.End().ok());
}

TEST_F(InferenceServiceTest, WhatCannotBeSubscribedToEndsTheCall) {
  std::vector<std::pair<ModelInferRequest, grpc::StatusCode>> cases = {
      {Subscribing("road"), grpc::StatusCode::NOT_FOUND},
      {Asking("street"), grpc::StatusCode::INVALID_ARGUMENT}};
  ModelInferRequest wrong = Subscribing("street");
  (*wrong.mutable_parameters())["policy"].set_string_param("SOMETIMES");
  cases.emplace_back(wrong, grpc::StatusCode::INVALID_ARGUMENT);
  wrong = Subscribing("street");
  (*wrong.mutable_parameters())["depth"].set_int64_param(1 << 20);
  cases.emplace_back(wrong, grpc::StatusCode::INVALID_ARGUMENT);
  wrong = Subscribing("street");
  wrong.add_raw_input_contents("what a subscription would keep");
  cases.emplace_back(wrong, grpc::StatusCode::INVALID_ARGUMENT);
  wrong = Subscribing("street");
  wrong.set_id(std::string(257, 'x'));
  cases.emplace_back(wrong, grpc::StatusCode::INVALID_ARGUMENT);
  wrong = Subscribing("street");
  wrong.set_model_version("2");
  cases.emplace_back(wrong, grpc::StatusCode::NOT_FOUND);
  for (const auto& [request, code] : cases) {
    Streaming streaming(*stub_);
    streaming.Write(request);
    EXPECT_FALSE(streaming.Next());
    EXPECT_EQ(streaming.End().error_code(), code) << request.ShortDebugString().substr(0, 200);
  }
  Streaming twice(*stub_);
  twice.Write(Subscribing("street"));
  twice.Write(Subscribing("yard"));
  EXPECT_FALSE(twice.Next());
  EXPECT_EQ(twice.End().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  while (subscribers().active > 0) std::this_thread::yield();
}

// One that asks for nothing, and one that is subscribed.
TEST_F(InferenceServiceTest, StreamsOfInferencesEndWithTheServer) {
  Streaming idle(*stub_);
  Streaming subscribed(*stub_);
  subscribed.Write(Subscribing("street"));
  while (subscribers().active == 0) std::this_thread::yield();
  streams_.Stop();
  EXPECT_FALSE(subscribed.Next());
  EXPECT_EQ(subscribed.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  server_->Shutdown(std::chrono::milliseconds(10));
  EXPECT_FALSE(idle.Next());
  EXPECT_FALSE(idle.End().ok());
}

class InferenceOfLabelsTest : public InferenceServiceTest {
 protected:
  InferenceOfLabelsTest()
      : InferenceServiceTest(
            {.learner = {.labels = pipeline::LabelledTask{.outputs = 3,
                                                          .classes = {"shut", "open", "ajar"}}}}) {}
};

TEST_F(InferenceOfLabelsTest, OutputsAreThoseOfItsTask) {
  inference::ModelMetadataRequest about;
  about.set_name("street");
  inference::ModelMetadataResponse metadata;
  ASSERT_TRUE(Call(&Stub::ModelMetadata, about, metadata).ok());
  EXPECT_THAT(metadata.inputs(0).shape(), ElementsAre(1, -1, -1, 3));
  EXPECT_EQ(metadata.outputs(0).name(), "outputs");
  EXPECT_THAT(metadata.outputs(0).shape(), ElementsAre(3));

  ModelInferRequest request = Asking("street");
  request.mutable_inputs(0)->set_shape(0, 1);
  request.set_raw_input_contents(0, std::string(kPictureBytes, 7));
  request.add_outputs()->set_name("outputs");
  ASSERT_TRUE(Infer(request).ok());
  EXPECT_THAT(FloatsOf(response_.raw_output_contents(0)), ElementsAre(7, 7, 7));
  EXPECT_EQ(response_.parameters().at("best_class_name").string_param(), "open");
}

}  // namespace
}  // namespace millrace::service
