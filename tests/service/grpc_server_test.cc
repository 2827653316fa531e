#include "service/grpc_server.h"

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/generic/generic_stub.h>

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/status.h"
#include "tests/service/grpc_fixture.h"

namespace millrace::service {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

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
  while (streams_->all()[1]->Snapshot().learner.ok()) std::this_thread::yield();
  EXPECT_EQ(Check(kPredictions), HealthCheckResponse::SERVING);
}

TEST_F(GrpcServerTest, PredictionsAreNotServedOnceEveryModelFailed) {
  FailLearner(street_);
  FailLearner(yard_);
  WatchUntil(kPredictions, HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(kStreams), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
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

/// An empty message of a type that some linked library knows.
std::unique_ptr<google::protobuf::Message> NewMessage(const std::string& type) {
  const auto* const descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type);
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
}

// gRPC's reflection library holds these messages but ships no header of them, and would not share a
// process with code of our own for the same. So they are made by name, and sent as bytes: on the
// wire, a stream of one message each way is a plain call.
TEST_F(GrpcServerTest, ReflectionListsTheServices) {
  const std::string package = "grpc.reflection.v1alpha.";
  const auto request = NewMessage(package + "ServerReflectionRequest");
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString("list_services: ''", request.get()));
  const grpc::Slice request_slice(request->SerializeAsString());
  const grpc::ByteBuffer request_bytes(&request_slice, 1);
  grpc::ByteBuffer response_bytes;
  grpc::ClientContext context;
  std::promise<grpc::Status> done;
  grpc::GenericStub(channel_).UnaryCall(
      &context, "/" + package + "ServerReflection/ServerReflectionInfo", {}, &request_bytes,
      &response_bytes, [&done](const grpc::Status& status) { done.set_value(status); });
  ASSERT_TRUE(done.get_future().get().ok());

  grpc::Slice response_slice;
  ASSERT_TRUE(response_bytes.DumpToSingleSlice(&response_slice).ok());
  const auto response = NewMessage(package + "ServerReflectionResponse");
  ASSERT_TRUE(
      response->ParseFromArray(response_slice.begin(), static_cast<int>(response_slice.size())));
  const std::string services = response->DebugString();
  EXPECT_THAT(services, HasSubstr("name: \"millrace.v1.PredictionService\""));
  EXPECT_THAT(services, HasSubstr("name: \"millrace.v1.StreamService\""));
  EXPECT_THAT(services, HasSubstr("name: \"grpc.health.v1.Health\""));
}

TEST_F(GrpcServerTest, SecondServerOnThePortIsRefused) {
  const auto second =
      GrpcServer::Start({.address = "127.0.0.1", .port = server_->port()}, *streams_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("cannot serve gRPC at 127.0.0.1:", server_->port())));
}

TEST_F(GrpcServerTest, AddressOfAnotherMachineIsRefused) {
  EXPECT_EQ(GrpcServer::Start({.address = "192.0.2.1", .port = 0}, *streams_).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(GrpcServerTest, ServesOverIpv6) {
  const auto server = GrpcServer::Start({.address = "::1", .port = 0}, *streams_);
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
