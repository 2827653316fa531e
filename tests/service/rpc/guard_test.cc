#include "service/rpc/guard.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;
using ::testing::HasSubstr;

constexpr char kThrown[] = "the table is gone";

using Methods = RawMethods<Health::Service, Health::WithRawCallbackMethod_Check,
                           Health::WithRawCallbackMethod_List, Health::WithRawCallbackMethod_Watch>;

/// Throws a requested exception, in every kind of call.
class ThrowingService final : public Methods {
 public:
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override {
    return guard_.Unary<HealthCheckRequest>(
        {context, request, response}, "Check",
        [](const auto& /*asked*/) -> absl::StatusOr<HealthCheckResponse> {
          throw std::runtime_error(kThrown);
        });
  }

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override {
    return guard_.UnaryOnThread<HealthListRequest>(
        {context, request, response}, "List", thread_,
        [](const auto& /*asked*/, const std::stop_token& /*stop*/)
            -> absl::StatusOr<HealthListResponse> { throw std::runtime_error(kThrown); });
  }

  Guard::ServerStreamReactor* Watch(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request) override {
    return guard_.ServerStream<HealthCheckRequest>(
        *context, "Watch", *request,
        [](const auto& /*asked*/) -> absl::StatusOr<Guard::ServerStreamReactor*> {
          throw std::runtime_error(kThrown);
        });
  }

 private:
  const Guard guard_{Health::service_full_name()};
  CallThread thread_{{.full = absl::UnavailableError("full")}};
};

class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    channel_ =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  }

  grpc::Status Call(const std::string& method, const std::string& request = "") {
    grpc::ClientContext context;
    return CallRaw(channel_, "grpc.health.v1.Health/" + method, context, request);
  }

  ThrowingService service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(GuardTest, WhatAMethodThrowsEndsItsCallAndSaysWhat) {
  for (const char* method : {"Check", "List", "Watch"}) {
    const grpc::Status status = Call(method);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL) << method;
    EXPECT_THAT(status.error_message(), HasSubstr(kThrown)) << method;
    EXPECT_EQ(DetailsOf(status).infos, 1) << method;
  }
}

// The methods would throw.
TEST_F(GuardTest, ARequestThatIsTooLargeOrOfAnotherKindReachesNoMethod) {
  for (const char* method : {"Check", "List", "Watch"}) {
    grpc::Status status = Call(method, std::string(kMaxBytesOfNames + 1, 'x'));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("it may have 65536")) << method;
    status = Call(method, "\xff");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("this is no Health")) << method;
  }
}

}  // namespace
}  // namespace millrace::service
