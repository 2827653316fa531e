// A call that works on a thread of ours, with a real gRPC server.
#include <grpcpp/grpcpp.h>

#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/guard.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;

using Work = std::function<absl::StatusOr<HealthListResponse>(const std::stop_token&)>;

class WorkingService final
    : public RawMethods<Health::Service, Health::WithRawCallbackMethod_List> {
 public:
  explicit WorkingService(Work work) : work_(std::move(work)) {}

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override {
    return guard_.UnaryOnThread<HealthListRequest>(
        {context, request, response}, "List", thread_,
        [this](const auto& /*asked*/, const std::stop_token& stop) { return work_(stop); });
  }

 private:
  const Work work_;
  const Guard guard_{Health::service_full_name()};
  CallThread thread_{{.max_waiting = 0, .full = absl::ResourceExhaustedError("full")}};
};

class ThreadedCallTest : public ::testing::Test {
 protected:
  void Serve(Work work) {
    service_ = std::make_unique<WorkingService>(std::move(work));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    channel_ =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  }

  grpc::Status Call(grpc::ClientContext& context) {
    return CallRaw(channel_, "grpc.health.v1.Health/List", context);
  }

  std::unique_ptr<WorkingService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// Hangs, and is killed by the test's timeout, where the work is not asked to stop.
TEST_F(ThreadedCallTest, WorkIsAskedToStopWhenItsClientCancels) {
  std::promise<void> begun;
  std::promise<void> stopped;
  Serve([&](const std::stop_token& stop) -> absl::StatusOr<HealthListResponse> {
    std::promise<void> asked;
    const std::stop_callback on_stop(stop, [&] { asked.set_value(); });
    begun.set_value();
    asked.get_future().wait();
    stopped.set_value();
    return absl::CancelledError("stopped");
  });
  grpc::ClientContext context;
  auto call = std::async(std::launch::async, [&] { return Call(context); });
  begun.get_future().wait();
  context.TryCancel();
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::CANCELLED);
  stopped.get_future().wait();
}

TEST_F(ThreadedCallTest, WorkThatStopsForTheServerIsSaidToBeUnavailable) {
  Serve([](const std::stop_token& /*stop*/) { return absl::CancelledError("the server ends"); });
  grpc::ClientContext context;
  const grpc::Status status = Call(context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "SERVER_STOPS");
}

TEST_F(ThreadedCallTest, ACallThatFindsNoPlaceIsRefused) {
  std::promise<void> begun;
  std::promise<void> go_on;
  Serve([&](const std::stop_token& /*stop*/) {
    begun.set_value();
    go_on.get_future().wait();
    return HealthListResponse();
  });
  grpc::ClientContext first;
  auto call = std::async(std::launch::async, [&] { return Call(first); });
  begun.get_future().wait();
  grpc::ClientContext second;
  EXPECT_EQ(Call(second).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  go_on.set_value();
  EXPECT_TRUE(call.get().ok());
}

}  // namespace
}  // namespace millrace::service
