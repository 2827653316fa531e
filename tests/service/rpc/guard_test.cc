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

TEST(GuardTest, WhatAMethodThrowsEndsItsCallAndSaysWhat) {
  ThrowingService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const auto channel =
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  for (const char* method : {"Check", "List", "Watch"}) {
    grpc::ClientContext context;
    const grpc::Status status =
        CallRaw(channel, absl::StrCat("grpc.health.v1.Health/", method), context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL) << method;
    EXPECT_THAT(status.error_message(), HasSubstr(kThrown)) << method;
    EXPECT_EQ(DetailsOf(status).infos, 1) << method;
  }
}

}  // namespace
}  // namespace millrace::service
