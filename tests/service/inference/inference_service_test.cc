// The Open Inference Protocol, at a real server over streams whose camera and network the test is.
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inference/open_inference_grpc.grpc.pb.h"
#include "service/inference/wire_inference_response.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/inference_client.h"

namespace millrace::service {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_EQ(metadata.outputs(1).name(), "uncertainty");
  EXPECT_EQ(metadata.outputs(1).datatype(), "FP32");
  EXPECT_THAT(metadata.outputs(1).shape(), ElementsAre(2, 4));

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
  ASSERT_EQ(response_.outputs_size(), 2) << "all outputs, as none is asked for by name";
  EXPECT_EQ(response_.outputs(0).name(), "flow");
  EXPECT_EQ(response_.outputs(0).datatype(), "FP32");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(2, 4, 2));
  EXPECT_THAT(FloatsOf(response_.raw_output_contents(0)), Each(7));
  EXPECT_EQ(response_.outputs(1).name(), "uncertainty");
  EXPECT_THAT(FloatsOf(response_.raw_output_contents(1)), testing::SizeIs(8));
  EXPECT_EQ(response_.parameters().at("update_count").int64_param(), 7);
  const auto& parameters = response_.parameters();
  EXPECT_FALSE(parameters.at("learned_from").bool_param());
  EXPECT_TRUE(parameters.contains("loss"));
  EXPECT_FALSE(parameters.contains("frame_number")) << "it is of no frame";
  EXPECT_FALSE(parameters.contains("epoch"));
  EXPECT_FALSE(parameters.contains("flags"));
  EXPECT_FALSE(parameters.contains("labelled"));
}

TEST_F(InferenceServiceTest, OnlyTheOutputsThatAreAskedForByNameAreMade) {
  for (const char* name : {"uncertainty", "flow"}) {
    ModelInferRequest request = Asking("street");
    request.add_outputs()->set_name(name);
    ASSERT_TRUE(Infer(request).ok());
    ASSERT_EQ(response_.outputs_size(), 1);
    EXPECT_EQ(response_.outputs(0).name(), name);
  }
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
  std::vector<std::pair<ModelInferRequest, std::string>> cases(15, {Asking("street"), ""});
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
  // More images than any model takes, all of them free for the client.
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
  cases[12].first.mutable_inputs(0)->mutable_contents()->add_uint_contents(1);
  cases[12].second = "inputs[0].contents";
  cases[13].first.add_raw_input_contents("another input's");
  cases[13].second = "raw_input_contents";
  auto& asked = *cases[14].first.add_outputs();
  asked.set_name("flow");
  (*asked.mutable_parameters())["classification"].set_int64_param(3);
  cases[14].second = "outputs[0].parameters[\"classification\"]";
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
  const auto& parameters = response_.parameters();
  EXPECT_EQ(parameters.at("best_class_name").string_param(), "open");
  EXPECT_EQ(parameters.at("labelled").int64_param(), 0);
  EXPECT_FALSE(parameters.contains("loss")) << "there are no labels";
  EXPECT_FALSE(parameters.contains("loss_no_motion"));
}

// As it learns: from labels, at a step that has some, there is a loss.
TEST(ToInferenceTest, FiguresAreThoseThatThereAre) {
  Prediction prediction;
  prediction.frame_number = 5;
  prediction.model.outputs = std::make_shared<const std::vector<float>>(3, 0.5F);
  prediction.model.labelled = 2;
  prediction.model.loss = 0.25;
  prediction.model.skipped = pipeline::SkipReason::kCut;
  prediction.model.drift = true;
  ModelInferResponse message;
  ToInference(prediction, {.outputs = false}, message);
  const auto& parameters = message.parameters();
  EXPECT_EQ(parameters.at("labelled").int64_param(), 2);
  EXPECT_EQ(parameters.at("loss").double_param(), 0.25);
  EXPECT_FALSE(parameters.contains("loss_no_motion"));
  EXPECT_EQ(parameters.at("flags").string_param(), "CUT,DRIFT");
  EXPECT_EQ(parameters.at("frame_number").int64_param(), 5);
  EXPECT_EQ(message.outputs_size(), 0);
}

}  // namespace
}  // namespace millrace::service
