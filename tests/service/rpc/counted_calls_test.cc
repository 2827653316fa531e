// Every call is counted by its status, whichever side ended it.
#include "service/rpc/counted_calls.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/v1/prediction_service.grpc.pb.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

class CountedCallsTest : public GrpcFixture {
 protected:
  /// A call is counted before its status is sent, so before its client knows.
  [[nodiscard]] std::uint64_t Counted(const std::string& method, grpc::StatusCode code) const {
    const std::vector<CallCounts::Method> methods = calls_.Read();
    const auto found = std::ranges::find(methods, method, &CallCounts::Method::name);
    return found == methods.end() ? 0 : found->calls.at(code);
  }
  /// How many calls were timed, by the time that any of them has told its client.
  [[nodiscard]] std::uint64_t Timed() const { return calls_.Durations().histogram.sample_count; }
};

TEST_F(CountedCallsTest, EveryMethodOfTheApiIsThereFromTheStart) {
  for (const google::protobuf::MethodDescriptor* method : ListMethods(channel_)) {
    EXPECT_TRUE(calls_.Expects(NameOf(*method))) << NameOf(*method);
  }
}

TEST_F(CountedCallsTest, CallsAreCountedByWhatTheyEndWith) {
  const std::string method = "millrace.v1.StreamService/GetStream";
  grpc::ClientContext good;
  v1::GetStreamRequest request;
  request.set_stream("street");
  ASSERT_TRUE(CallRaw(channel_, method, good, request.SerializeAsString()).ok());
  EXPECT_EQ(Counted(method, grpc::StatusCode::OK), 1u);
  request.set_stream("nowhere");
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext bad;
    ASSERT_FALSE(CallRaw(channel_, method, bad, request.SerializeAsString()).ok());
  }
  EXPECT_EQ(Counted(method, grpc::StatusCode::NOT_FOUND), 2u);
  EXPECT_EQ(Timed(), 3u);
  EXPECT_GT(calls_.Durations().histogram.sample_sum, 0);
  EXPECT_EQ(Counted(method, grpc::StatusCode::OK), 1u);
}

TEST_F(CountedCallsTest, AStreamOfPredictionsIsOneCall) {
  const std::string method = "millrace.v1.PredictionService/Subscribe";
  const auto stub = v1::PredictionService::NewStub(channel_);
  grpc::ClientContext context;
  v1::SubscribeRequest request;
  request.set_stream("street");
  const auto reader = stub->Subscribe(&context, request);
  street().Stop();
  v1::SubscribeResponse response;
  while (reader->Read(&response)) {
  }
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(Counted(method, status.error_code()), 1u);
  EXPECT_EQ(Timed(), 0u) << "it took as long as its client wanted it to";
}

}  // namespace
}  // namespace millrace::service
