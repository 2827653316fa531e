// What holds for every method of the API, whichever there are.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/subscribers.h"
#include "tests/service/busy_control.h"
#include "tests/service/error_details.h"
#include "tests/service/grpc_fixture.h"
#include "tests/service/raw_calls.h"
#include "tests/service/subscriber.h"

namespace millrace::service {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class EveryMethodTest : public GrpcFixture {
 protected:
  grpc::Status Call(const MethodDescriptor& method, const std::string& request) {
    grpc::ClientContext context;
    return CallRaw(channel_, NameOf(method), context, request);
  }
};

/// The field that names the stream: of the request, or of a message in it.
struct NameField {
  const FieldDescriptor* outer = nullptr;  // Null: it is the request's own.
  const FieldDescriptor* name = nullptr;   // Null: there is none.
};

NameField NameFieldOf(const google::protobuf::Descriptor& request) {
  for (const char* name : {"stream", "model_name", "name"}) {
    if (const auto* field = request.FindFieldByName(name)) return {nullptr, field};
  }
  if (const auto* learner = request.FindFieldByName("learner")) {
    return {learner, learner->message_type()->FindFieldByName("stream")};
  }
  return {};
}

/// A request that names `stream`, where it can, and with which nothing else is wrong.
std::string RequestFor(const MethodDescriptor& method, const std::string& stream) {
  const auto request = NewMessage(method.input_type()->full_name());
  const NameField field = NameFieldOf(*method.input_type());
  if (field.name == nullptr) return "";
  auto* const holder = field.outer == nullptr
                           ? request.get()
                           : request->GetReflection()->MutableMessage(request.get(), field.outer);
  const auto* const other = method.input_type()->FindFieldByName("name");
  if (other != nullptr) request->GetReflection()->SetString(request.get(), other, "any");
  holder->GetReflection()->SetString(holder, field.name, stream);
  return request->SerializeAsString();
}

TEST_F(EveryMethodTest, SaysThatThereIsNoSuchStreamAndWhichThereAre) {
  int methods = 0;
  for (const MethodDescriptor* method : ListMethods(channel_)) {
    const auto field = NameFieldOf(*method->input_type());
    // Whether it is ready can be asked of any model.
    if (field.name == nullptr || method->name() == "ModelReady") continue;
    ++methods;
    const grpc::Status status = Call(*method, RequestFor(*method, "nowhere"));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND)
        << NameOf(*method) << ": " << status.error_message();
    EXPECT_EQ(ReasonOf(status), "STREAM_NOT_FOUND") << NameOf(*method);
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("nowhere"), AnyOf(HasSubstr("street"), HasSubstr("ListStreams"))));
  }
  EXPECT_GE(methods, 20);
}

TEST_F(EveryMethodTest, RefusesWhatIsNoMessage) {
  const std::string no_message = "\x0a\xff\xff\xff\xff\x0f";  // Longer than it is.
  for (const MethodDescriptor* method : ListMethods(channel_)) {
    // To a server that reads a stream of them, one that it cannot read is the stream's end.
    if (method->input_type()->field_count() == 0 || method->client_streaming()) continue;
    const grpc::Status status = Call(*method, no_message);
    EXPECT_THAT(status.error_code(),
                AnyOf(grpc::StatusCode::INTERNAL, grpc::StatusCode::INVALID_ARGUMENT,
                      grpc::StatusCode::CANCELLED, grpc::StatusCode::UNKNOWN,
                      grpc::StatusCode::UNIMPLEMENTED))
        << NameOf(*method) << ": " << status.error_message();
  }
  // It serves on.
  grpc::ClientContext context;
  EXPECT_TRUE(CallRaw(channel_, "millrace.v1.StreamService/ListStreams", context).ok());
}

TEST_F(EveryMethodTest, OneThatThereIsNotIsUnimplemented) {
  grpc::ClientContext context;
  EXPECT_EQ(CallRaw(channel_, "millrace.v1.StreamService/EatStream", context).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(EveryMethodTest, WaitsForTheChangesBeforeUnlessTooManyDoAndThenSaysSo) {
  std::optional<HeldChange> held(std::in_place, channel_, starting_);
  WaitingChanges waiting(channel_);
  EXPECT_EQ(ReasonOf(waiting.AwaitRefused()), "TOO_MANY_CHANGES");
  std::vector<std::string> refused;
  for (const MethodDescriptor* method : ListMethods(channel_)) {
    const grpc::Status status = Call(*method, RequestFor(*method, "nowhere"));
    if (ReasonOf(status) != "TOO_MANY_CHANGES") continue;
    refused.push_back(method->name());
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_TRUE(DetailsOf(status).has_retry);
  }
  EXPECT_THAT(refused,
              UnorderedElementsAre("CreateStream", "UpdateStream", "DeleteStream", "ResetLearner",
                                   "RestoreCheckpoint", "DeleteCheckpoint"));
  held.reset();
  EXPECT_EQ(waiting.AwaitServed(), WaitingChanges::kMayWait);
}

TEST_F(EveryMethodTest, StreamsAsLongAsAClientWantsUnlessTooManyDoAndThenSaysSo) {
  std::vector<std::unique_ptr<Subscriber>> all;
  for (std::size_t i = 0; i < Subscribers::kMost; ++i) {
    all.push_back(std::make_unique<Subscriber>(*channel_, To("street")));
  }
  std::vector<std::string> refused;
  for (const MethodDescriptor* method : ListMethods(channel_)) {
    if (!method->server_streaming()) continue;
    const grpc::Status status = Call(*method, RequestFor(*method, "street"));
    if (ReasonOf(status) != "TOO_MANY_SUBSCRIBERS") continue;
    refused.push_back(method->name());
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_THAT(refused,
              UnorderedElementsAre("Subscribe", "WatchStreams", "Push", "ModelStreamInfer"));
  EXPECT_EQ(subscribers().active, Subscribers::kMost) << "others are not harmed";
}

TEST_F(EveryMethodTest, SaysThatARequestIsTooLarge) {
  const std::string large(33 << 20, '\0');
  for (const MethodDescriptor* method : ListMethods(channel_)) {
    EXPECT_EQ(Call(*method, large).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << NameOf(*method);
  }
}

}  // namespace
}  // namespace millrace::service
