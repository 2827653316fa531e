#include "service/server/grpc_server.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "service/rpc/status.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr char kPredictions[] = "millrace.v1.PredictionService";
constexpr char kStreams[] = "millrace.v1.StreamService";

class GrpcServerTest : public GrpcFixture {
 protected:
  HealthCheckResponse::ServingStatus Check(const std::string& service) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const grpc::Status status = health_->Check(&context, request, &response);
    return status.ok() ? response.status() : HealthCheckResponse::SERVICE_UNKNOWN;
  }

  /// Waits, by the health service's own stream, until `service` is `expected`.
  void WatchUntil(const std::string& service, HealthCheckResponse::ServingStatus expected) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    const auto watch = health_->Watch(&context, request);
    HealthCheckResponse response;
    while (watch->Read(&response) && response.status() != expected) {
    }
    EXPECT_EQ(response.status(), expected);
    context.TryCancel();
    watch->Finish().error_code();
  }

  static void FailLearner(FakeStream& fake) {
    fake.learner->Fail(absl::InternalError("injected"));
    fake.source->Push();
    fake.source->Push();
  }

  std::unique_ptr<::grpc::health::v1::Health::Stub> health_ =
      ::grpc::health::v1::Health::NewStub(channel_);
};

TEST_F(GrpcServerTest, IsHealthyFromTheStart) {
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(kPredictions), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(kStreams), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("millrace.v1.Gate"), HealthCheckResponse::SERVICE_UNKNOWN);
}

TEST_F(GrpcServerTest, DrainingIsNotServingAndServesOn) {
  server_->Drain();
  server_->Drain();
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(kPredictions), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(kStreams), HealthCheckResponse::NOT_SERVING);
}

TEST_F(GrpcServerTest, PredictionsAreServedWhileAnyModelWorksAndWhateverCamerasDo) {
  street_.source->End();
  while (!street().ended()) std::this_thread::yield();
  EXPECT_EQ(Check(kPredictions), HealthCheckResponse::SERVING);

  FailLearner(yard_);
  while (Served("yard")->stream->Snapshot().learner.ok()) std::this_thread::yield();
  EXPECT_EQ(Check(kPredictions), HealthCheckResponse::SERVING);
}

TEST_F(GrpcServerTest, PredictionsAreNotServedOnceEveryModelFailed) {
  FailLearner(street_);
  FailLearner(yard_);
  WatchUntil(kPredictions, HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(kStreams), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
}

TEST_F(GrpcServerTest, IsNotAliveOnceAGpuHasFailed) {
  street_.learner->Fail(absl::AbortedError("the GPU has failed: start again"));
  street_.source->Push();
  street_.source->Push();
  WatchUntil("", HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(kPredictions), HealthCheckResponse::SERVING) << "the yard has a model that works";
  EXPECT_EQ(Check(kStreams), HealthCheckResponse::SERVING);
}

TEST_F(GrpcServerTest, IsNotAliveWhileAStreamHangsAndIsOnceItGoesOn) {
  street_.source->Push();
  street_.source->Push();  // Which is not predicted.
  while (Served("street")->stream->Snapshot().frames.dropped_in_all() == 0) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(liveness_.Judge().alive);
  liveness_clock_.Advance(Liveness::kPatience);
  WatchUntil("", HealthCheckResponse::NOT_SERVING);
  street_.learner->Predict();
  WatchUntil("", HealthCheckResponse::SERVING);
}

TEST_F(GrpcServerTest, ShutdownDoesNotWaitForThoseWhoWatch) {
  grpc::ClientContext context;
  const auto watch = health_->Watch(&context, {});
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  server_->Shutdown(std::chrono::hours(1));
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, ReflectionListsTheServices) {
  EXPECT_THAT(ListServices(channel_),
              IsSupersetOf({kPredictions, kStreams, "grpc.health.v1.Health"}));
}

TEST_F(GrpcServerTest, SecondServerOnThePortIsRefused) {
  const auto second = GrpcServer::Start({.address = "127.0.0.1", .port = server_->port()}, Api());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("cannot listen on 127.0.0.1:", server_->port())));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("listen.grpc_port"));
}

TEST_F(GrpcServerTest, AddressOfAnotherMachineIsRefused) {
  EXPECT_EQ(GrpcServer::Start({.address = "192.0.2.1", .port = 0}, Api()).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(GrpcServerTest, ServesOverIpv6) {
  const auto server = GrpcServer::Start({.address = "::1", .port = 0}, Api());
  if (!server.ok()) GTEST_SKIP() << "needs IPv6 on the loopback: " << server.status();
  EXPECT_GT((*server)->port(), 0);
}

TEST_F(GrpcServerTest, ShutdownTwiceIsShutdown) {
  server_->Shutdown(std::chrono::seconds(1));
  server_->Shutdown(std::chrono::seconds(1));
  EXPECT_NE(Check(""), HealthCheckResponse::SERVING);
}

TEST(ToGrpcStatusTest, KeepsCodeAndMessage) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  const grpc::Status status = ToGrpcStatus(absl::NotFoundError("no stream"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no stream");
}

}  // namespace
}  // namespace millrace::service
