// Common rules of all methods of the API, also future ones.
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "service/rpc/streaming_calls.h"
#include "tests/service/support/busy_control.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/raw_calls.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
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

/// All that the server serves itself: reflection is gRPC's.
const std::vector<std::string> kOurs = {"millrace.", "inference.", "grpc.health."};

TEST_F(EveryMethodTest, RefusesWhatIsNoMessage) {
  const std::string no_message = "\x0a\xff\xff\xff\xff\x0f";  // Longer than it is.
  int methods = 0;
  for (const MethodDescriptor* method : ListMethods(channel_, kOurs)) {
    ++methods;
    const grpc::Status status = Call(*method, no_message);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << NameOf(*method);
    EXPECT_EQ(status.error_message(), absl::StrCat("this is no ", method->input_type()->name()))
        << NameOf(*method);
    EXPECT_EQ(DetailsOf(status).infos, 1) << NameOf(*method);
  }
  EXPECT_GE(methods, 32);
  // It serves on.
  grpc::ClientContext context;
  EXPECT_TRUE(CallRaw(channel_, "millrace.v1.StreamService/ListStreams", context).ok());
}

/// What a request may have; nothing where that is what gRPC lets through.
std::optional<std::size_t> MaxBytesOf(const MethodDescriptor& method) {
  const std::set<std::string> with_pictures_or_labels = {"Predict", "ModelInfer", "AddLabels",
                                                         "Push"};
  if (with_pictures_or_labels.contains(method.name())) return std::nullopt;
  const bool with_configuration =
      method.name() == "CreateStream" || method.name() == "UpdateStream";
  return with_configuration ? 1 << 20 : 64 << 10;
}

/// `request` with an unknown field, so that it has `bytes` bytes.
/// REQUIRES: the field's length takes three bytes: it is from 2^14 to 2^21.
std::string Padded(std::string request, std::size_t bytes) {
  const std::size_t rest = bytes - request.size() - 5;
  request += "\xc2\x3e";  // Number 1000, of bytes.
  request += static_cast<char>(0x80 | (rest & 0x7f));
  request += static_cast<char>(0x80 | (rest >> 7 & 0x7f));
  request += static_cast<char>(rest >> 14);
  return request + std::string(rest, '\0');
}

TEST_F(EveryMethodTest, RefusesARequestOfMoreThanThereCanBeANeedFor) {
  int methods = 0;
  for (const MethodDescriptor* method : ListMethods(channel_, kOurs)) {
    const std::optional<std::size_t> max_bytes = MaxBytesOf(*method);
    if (!max_bytes) continue;
    ++methods;
    const std::string request = RequestFor(*method, "nowhere");
    const grpc::Status status = Call(*method, Padded(request, *max_bytes + 1));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << NameOf(*method);
    EXPECT_THAT(status.error_message(), HasSubstr(absl::StrCat("has ", *max_bytes + 1, " bytes")))
        << NameOf(*method);
    EXPECT_EQ(DetailsOf(status).infos, 1) << NameOf(*method);
    // Where there is no such thing, a watch of health goes on.
    if (method->name() == "Watch") continue;
    EXPECT_THAT(Call(*method, Padded(request, *max_bytes)).error_message(),
                Not(HasSubstr(" bytes")))
        << NameOf(*method);
  }
  EXPECT_GE(methods, 28);
}

TEST_F(EveryMethodTest, OneThatThereIsNotIsUnimplemented) {
  grpc::ClientContext context;
  EXPECT_EQ(CallRaw(channel_, "millrace.v1.StreamService/EatStream", context).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(EveryMethodTest, WaitsForTheChangesBeforeUnlessTooManyDoAndThenSaysSo) {
  constexpr std::size_t kMayWait = 64 + kChangesAtOnce;
  std::vector<std::string> streams;
  std::vector<std::unique_ptr<HeldChange>> held;
  for (std::size_t i = 0; i <= kMayWait; ++i) {
    streams.push_back(absl::StrCat("gate", i));
    held.push_back(std::make_unique<HeldChange>(changes_, streams.back()));
  }
  VainDeletes deletes(channel_, streams);
  EXPECT_EQ(ReasonOf(deletes.AwaitEnded(1).front()), "TOO_MANY_CHANGES");
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
  held.clear();
  EXPECT_EQ(deletes.AwaitAll(grpc::StatusCode::NOT_FOUND), kMayWait);
}

TEST_F(EveryMethodTest, StreamsAsLongAsAClientWantsUnlessTooManyDoAndThenSaysSo) {
  std::vector<std::unique_ptr<Subscriber>> all;
  for (std::size_t i = 0; i < StreamingCalls::kMax; ++i) {
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
  EXPECT_EQ(subscribers().active, StreamingCalls::kMax) << "others are not harmed";
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
