// A client whose network breaks without a word: the server notices by itself.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/relay.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

// No call streams here, so that only the keepalive can notice the failure.
class BrokenNetworkTest : public GrpcFixture {
 protected:
  BrokenNetworkTest()
      : GrpcFixture(FakeStreamOptions(), {.stall_limit = std::chrono::hours(1),
                                          .keepalive_time = std::chrono::milliseconds(200),
                                          .keepalive_timeout = std::chrono::milliseconds(200)}) {}

  Relay relay_{server_->port()};
  std::shared_ptr<grpc::Channel> through_relay_ = grpc::CreateChannel(
      absl::StrCat("127.0.0.1:", relay_.port()), grpc::InsecureChannelCredentials());
};

TEST_F(BrokenNetworkTest, ASubscriberIsGivenUpHoweverLongItHasBeenSilent) {
  Subscriber subscriber(*through_relay_, To("street"));
  while (subscribers().active == 0) std::this_thread::yield();
  // Asked again and again for a sign of life, it gives one.
  const std::uint64_t begin = relay_.heard_of_server();
  while (relay_.heard_of_server() < begin + 6) std::this_thread::yield();
  EXPECT_EQ(subscribers().active, 1u);

  relay_.Cut();
  while (subscribers().active > 0) std::this_thread::yield();  // Else the test's own limit ends it.
  subscriber.Cancel();
  EXPECT_FALSE(subscriber.Finish().ok());
}

TEST(GrpcServerOptionsTest, AClientWhoseNetworkBrokeIsNoticedWithinFortySeconds) {
  const GrpcServer::Options options;
  EXPECT_LE(options.keepalive_time + options.keepalive_timeout, std::chrono::seconds(40))
      << "docs/sources.md and docs/reliability.md say so";
}

}  // namespace
}  // namespace millrace::service
