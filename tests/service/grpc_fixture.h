// A real gRPC server on a free port, over streams whose camera and network the test is.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/grpc_server.h"
#include "tests/service/fake_stream.h"

namespace millrace::service {

/// Serves the streams "street" and "yard". Destroying it shuts the server down first.
class GrpcFixture : public testing::Test {
 protected:
  GrpcFixture() : GrpcFixture(FakeStreamOptions()) {}
  explicit GrpcFixture(FakeStreamOptions options) {
    options.live = false;  // No frame is lost by accident.
    options.queue_capacity = 64;
    street_ = StartFakeStream(options);
    options.name = "yard";
    yard_ = StartFakeStream(options);
    std::vector<std::unique_ptr<CameraStream>> all;
    all.push_back(std::move(street_.stream));
    all.push_back(std::move(yard_.stream));
    streams_ = std::make_unique<Streams>(std::move(all));
    auto server = GrpcServer::Start({}, *streams_);
    MILLRACE_CHECK(server.ok());
    server_ = *std::move(server);
    // A channel of its own: tests must not share one connection's flow control.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                         grpc::InsecureChannelCredentials(), arguments);
  }

  CameraStream& street() { return *streams_->all()[0]; }

  /// The camera `fake` takes `frames` pictures, and each but the first of all is predicted.
  static void Film(FakeStream& fake, int frames) {
    for (int i = 0; i < frames; ++i) {
      const bool first = fake.source->queue().received() == 0;
      fake.source->Push();
      if (!first) fake.learner->Predict();
    }
  }

  FakeStream street_;
  FakeStream yard_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace millrace::service
