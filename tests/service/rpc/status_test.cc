// Errors reach a client complete, also very long ones.
#include "service/rpc/status.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(StatusTest, AShortErrorIsSaidAsItIs) {
  const grpc::Status status = ToGrpcStatus(
      WithReason("STREAM_NOT_FOUND", {{"stream", "gate"}}, absl::NotFoundError("no gate")));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no gate");
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.info.reason(), "STREAM_NOT_FOUND");
  EXPECT_EQ(details.info.metadata().at("stream"), "gate");
  EXPECT_FALSE(details.info.metadata().contains("violations_left_out"));
}

TEST(StatusTest, WhateverCharactersAClientSendsItsFieldsStayApart) {
  const std::vector<FieldViolation> wrong =
      FieldViolationsOf(InvalidFields({{"a\x1e", "is '\x1f\x1e'"}, {"b", "is wrong"}}));
  ASSERT_EQ(wrong.size(), 2u);
  EXPECT_EQ(wrong[0].field, "a ");
  EXPECT_EQ(wrong[0].description, "is '  '");
  EXPECT_EQ(wrong[1].field, "b");
}

/// Over a real connection, where an error has to fit into headers.
class LongErrorsTest : public GrpcFixture {
 protected:
  /// More streams with names of the longest kind.
  void AddStreams() {
    for (int i = 0; i < 64; ++i) {
      StreamConfig config;
      config.name = absl::StrCat(i, "-", std::string(60, 'x'));
      FakeStreamOptions options;
      options.config = config;
      before_.push_back(StartFakeStream(options));
      auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
      MILLRACE_CHECK(
          streams_.Add(std::make_shared<ServedStream>(record, std::move(before_.back().stream)))
              .ok());
    }
  }

  grpc::Status Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetStreamRequest request;
    request.set_stream(name);
    v1::GetStreamResponse response;
    return v1::StreamService::NewStub(channel_)->GetStream(&context, request, &response);
  }
};

TEST_F(LongErrorsTest, OfManyStreamsSomeAreNamed) {
  AddStreams();
  const grpc::Status status = Get("gate");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "STREAM_NOT_FOUND");
  EXPECT_THAT(status.error_message(),
              StartsWith("there is no stream 'gate'; there are 'street', "));
  EXPECT_THAT(status.error_message(), HasSubstr("'0-xxx"));
  EXPECT_THAT(status.error_message(), HasSubstr("' and 57 more"));
}

TEST_F(LongErrorsTest, ANameThatIsLongItselfIsCut) {
  AddStreams();
  std::string name;
  for (int i = 0; i < 3000; ++i) name += "\u732b";
  const grpc::Status status = Get(name);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.info.reason(), "STREAM_NOT_FOUND");
  EXPECT_THAT(details.info.metadata().at("stream"), StartsWith("\u732b"));
  EXPECT_THAT(status.error_message(), StartsWith("there is no stream '\u732b"));
}

TEST_F(LongErrorsTest, OfManyWrongFieldsTheFirstAreNamedAndTheOthersCounted) {
  grpc::ClientContext context;
  v1::CreateStreamRequest request;
  auto& fields = *request.mutable_config()->mutable_fields();
  constexpr int kWrong = 500;
  for (int i = 0; i < kWrong; ++i) {
    fields[absl::StrCat("key-", i, std::string(i % 40, 'x'))].set_number_value(i);
  }
  v1::CreateStreamResponse response;
  const grpc::Status status =
      v1::StreamService::NewStub(channel_)->CreateStream(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.info.reason(), "INVALID_FIELD");
  const int named = details.bad_request.field_violations_size();
  EXPECT_GT(named, 5);
  int left_out = 0;
  ASSERT_TRUE(absl::SimpleAtoi(details.info.metadata().at("violations_left_out"), &left_out));
  EXPECT_GE(named + left_out, kWrong);
  EXPECT_THAT(status.error_message(), HasSubstr("unknown key"));
  EXPECT_THAT(status.error_message(), testing::MatchesRegex("(.|\n)*\n\\.\\.\\. and [0-9]+ more"));
}

}  // namespace
}  // namespace millrace::service
