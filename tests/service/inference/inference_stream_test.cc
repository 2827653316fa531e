// ModelStreamInfer: the subscriptions of a client of the Open Inference Protocol, and the end of
// its call.
#include <pthread.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inference/open_inference_grpc.grpc.pb.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/inference_client.h"

namespace millrace::service {
namespace {

using inference::ModelInferRequest;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class InferenceStreamTest : public GrpcFixture {
 protected:
  InferenceStreamTest() = default;
  using GrpcFixture::GrpcFixture;

  /// How a call ends that gets nothing.
  grpc::Status Refused(const ModelInferRequest& request) {
    Streaming streaming(*stub_);
    streaming.Write(request);
    EXPECT_FALSE(streaming.Next());
    return streaming.End();
  }
  void AwaitSubscribers(std::uint64_t count) {
    while (subscribers().active != count) std::this_thread::yield();
  }

  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_ =
      inference::GRPCInferenceService::NewStub(channel_);
};

TEST_F(InferenceStreamTest, AStreamOfInferencesIsASubscription) {
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

TEST_F(InferenceStreamTest, ASubscriptionGoesOnWhereAnEarlierOneStopped) {
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

TEST_F(InferenceStreamTest, ASubscriptionEndsWithItsStream) {
  Streaming streaming(*stub_);
  streaming.Write(Subscribing("street"));
  while (subscribers().active == 0) std::this_thread::yield();
  street_.source->End();
  EXPECT_FALSE(streaming.Next());
  EXPECT_TRUE(streaming.End().ok());
}

TEST_F(InferenceStreamTest, WhatCannotBeSubscribedToEndsTheCall) {
  std::vector<std::pair<ModelInferRequest, grpc::StatusCode>> cases = {
      {Subscribing("road"), grpc::StatusCode::NOT_FOUND},
      {Asking("street"), grpc::StatusCode::INVALID_ARGUMENT}};
  ModelInferRequest wrong = Subscribing("street");
  (*wrong.mutable_parameters())["policy"].set_string_param("SOMETIMES");
  cases.emplace_back(wrong, grpc::StatusCode::INVALID_ARGUMENT);
  wrong = Subscribing("road");
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
  wrong = Subscribing("street");
  (*wrong.mutable_parameters())["sequence"].set_int64_param(0);
  cases.emplace_back(wrong, grpc::StatusCode::INVALID_ARGUMENT);
  for (const auto& [request, code] : cases) {
    Streaming streaming(*stub_);
    streaming.Write(request);
    EXPECT_FALSE(streaming.Next());
    EXPECT_EQ(streaming.End().error_code(), code) << request.ShortDebugString().substr(0, 200);
  }
}

TEST_F(InferenceStreamTest, ACallSubscribesOnce) {
  Streaming streaming(*stub_);
  streaming.Write(Subscribing("street"));
  streaming.Write(Subscribing("yard"));
  EXPECT_FALSE(streaming.Next());
  const grpc::Status status = streaming.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "ALREADY_SUBSCRIBED");
  AwaitSubscribers(0);
}

// One that asks for nothing, and one that is subscribed.
TEST_F(InferenceStreamTest, StreamsOfInferencesEndWithTheServer) {
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

TEST_F(InferenceStreamTest, AllSubscribersGetTheSameAndEachItsOwn) {
  ModelInferRequest without = Subscribing("street", "without");
  for (const char* name : {"flow", "uncertainty"}) without.add_outputs()->set_name(name);
  Streaming first(*stub_);
  Streaming second(*stub_);
  first.Write(Subscribing("street", "first"));
  second.Write(without);
  AwaitSubscribers(2);
  Film(street_, 2);
  const auto said = first.Next();
  auto also = second.Next();
  ASSERT_TRUE(said && also);
  EXPECT_EQ(said->id(), "first");
  EXPECT_EQ(also->id(), "without");
  also->set_id("first");
  EXPECT_EQ(also->SerializeAsString().size(), said->SerializeAsString().size());
  EXPECT_EQ(also->raw_output_contents(0), said->raw_output_contents(0));
}

TEST_F(InferenceStreamTest, WhatSubscribersAreSentIsMadeOnceForAllWhoAskForTheSame) {
  ModelInferRequest of_flow = Subscribing("street", "of flow");
  of_flow.add_outputs()->set_name("flow");
  const std::vector<ModelInferRequest> requests = {Subscribing("street", "a"),
                                                   Subscribing("street", "b"), of_flow};
  std::vector<std::unique_ptr<Streaming>> all;
  for (const ModelInferRequest& request : requests) {
    all.push_back(std::make_unique<Streaming>(*stub_));
    all.back()->Write(request);
  }
  AwaitSubscribers(all.size());
  Film(street_, 1);
  for (std::uint64_t prediction = 1; prediction <= 5; ++prediction) {
    Film(street_, 1);
    for (const auto& streaming : all) EXPECT_TRUE(streaming->Next());
    EXPECT_EQ(subscribers().made, 2 * prediction);
  }
}

TEST_F(InferenceStreamTest, AnotherRunOrTheFutureCannotBeResumed) {
  Film(street_, 3);
  ModelInferRequest request = Subscribing("street");
  auto& parameters = *request.mutable_parameters();
  parameters["run_id"].set_string_param("other");
  parameters["sequence"].set_int64_param(1);
  const grpc::Status other = Refused(request);
  EXPECT_EQ(other.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(other), "RESUME_POINT_GONE");
  EXPECT_THAT(other.error_message(), Not(HasSubstr("resume"))) << "no word of the other API's";
  parameters["run_id"].set_string_param(Served("street")->run_id);
  parameters["sequence"].set_int64_param(3);
  EXPECT_EQ(ReasonOf(Refused(request)), "RESUME_POINT_GONE");
}

TEST_F(InferenceStreamTest, ASequenceOfNoRunIsNamed) {
  ModelInferRequest request = Subscribing("street");
  (*request.mutable_parameters())["sequence"].set_int64_param(0);
  const auto bad = DetailsOf(Refused(request)).bad_request;
  ASSERT_EQ(bad.field_violations_size(), 1);
  EXPECT_EQ(bad.field_violations(0).field(), "parameters[\"sequence\"]");
  EXPECT_THAT(bad.field_violations(0).description(), HasSubstr("run_id"));
}

TEST_F(InferenceStreamTest, EndsUnavailableWhenTheStreamIsMadeAnew) {
  Streaming streaming(*stub_);
  streaming.Write(Subscribing("street"));
  AwaitSubscribers(1);
  StreamConfig config = Served("street")->config();
  config.entry = R"({"name":"street","model":{"seed":1}})";
  config.effective = config.entry;
  ASSERT_TRUE(changes_.Update({.name = "street"}, config, /*allow_reset=*/true).ok());
  EXPECT_FALSE(streaming.Next());
  const grpc::Status status = streaming.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "STREAM_CHANGED");
  EXPECT_TRUE(DetailsOf(status).has_retry);
}

TEST_F(InferenceStreamTest, ACancelledCallIsFreed) {
  for (const bool subscribed : {false, true}) {
    Streaming streaming(*stub_);
    if (subscribed) streaming.Write(Subscribing("street"));
    AwaitSubscribers(subscribed ? 1 : 0);
    streaming.Cancel();
    EXPECT_FALSE(streaming.Next());
    EXPECT_EQ(streaming.End().error_code(), grpc::StatusCode::CANCELLED);
    AwaitSubscribers(0);
  }
}

TEST_F(InferenceStreamTest, OneTooManyIsRefused) {
  std::vector<std::unique_ptr<Streaming>> all;
  for (std::size_t i = 0; i < StreamingCalls::kMax; ++i) {
    all.push_back(std::make_unique<Streaming>(*stub_));
  }
  const grpc::Status status = Refused(Subscribing("street"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_SUBSCRIBERS");
}

TEST_F(InferenceStreamTest, WhatIsTooLargeToBeASubscriptionIsNotParsed) {
  ModelInferRequest request = Subscribing("street");
  for (int i = 0; i < 40'000; ++i) request.add_inputs();
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("ModelInfer"));
}

/// gRPC gives its threads names of their own.
bool OnThreadOfGrpc() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return std::string(program_invocation_short_name).substr(0, 15) != name;
}

TEST_F(InferenceStreamTest, WhatIsThrownEndsTheCall) {
  street_.learner->AtDescriptions([] {
    if (OnThreadOfGrpc()) throw std::runtime_error("no memory is left");
  });
  const grpc::Status status = Refused(Subscribing("street"));
  street_.learner->AtDescriptions({});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("no memory is left"));
  Streaming another(*stub_);
  another.Write(Subscribing("street"));
  AwaitSubscribers(1);
}

// Flows of 0.6 MB each: they soon fill the connection of a client that does not read.
class SlowInferenceStreamTest : public InferenceStreamTest {
 protected:
  SlowInferenceStreamTest()
      : InferenceStreamTest({.learner = {.width = 320, .height = 240}, .ring_capacity = 4},
                            {.stall_limit = std::chrono::milliseconds(300)}) {}

  grpc::Status EndOf(Streaming& streaming) {
    while (streaming.Next()) {
    }
    return streaming.End();
  }
};

TEST_F(SlowInferenceStreamTest, ARecorderLosesItsSubscriptionRatherThanAPrediction) {
  ModelInferRequest request = Subscribing("street");
  (*request.mutable_parameters())["policy"].set_string_param("LOSSLESS");
  (*request.mutable_parameters())["depth"].set_int64_param(8);
  Streaming streaming(*stub_);
  streaming.Write(request);
  AwaitSubscribers(1);
  Film(street_, 60);
  const grpc::Status status = EndOf(streaming);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SLOW_SUBSCRIBER");
  EXPECT_THAT(status.error_message(), Not(HasSubstr("'parts'"))) << "no word of the other API's";
}

TEST_F(SlowInferenceStreamTest, OneThatTakesNothingIsLetGoAndToldWhy) {
  Streaming frozen(*stub_);
  frozen.Write(Subscribing("street"));
  AwaitSubscribers(1);
  Film(street_, 40);
  while (subscribers().cut_off == 0) std::this_thread::yield();
  const grpc::Status status = EndOf(frozen);
  EXPECT_EQ(ReasonOf(status), "SLOW_SUBSCRIBER");
  EXPECT_THAT(status.error_message(), HasSubstr("took nothing for 0.3 s"));
  AwaitSubscribers(0);
}

}  // namespace
}  // namespace millrace::service
