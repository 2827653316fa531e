// From where calls of control are served, over real connections.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

/// An address of this machine that is not its loopback; empty if it has none.
std::string OtherAddress() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* const address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
    if (!IsLoopback(text)) return text;
  }
  return "";
}

class GrpcControlTest : public GrpcFixture {
 protected:
  /// The outcome of AddLabels, called at `host` of a server at `address`. NOT_FOUND: it reached the
  /// service, which knows no stream without a name.
  grpc::Status AddLabels(const std::string& address, const std::string& host, ControlFrom control) {
    const auto server =
        GrpcServer::Start({.address = address, .security = {.control = control}}, Api());
    if (!server.ok()) return {grpc::StatusCode::UNAVAILABLE, "no such address"};
    grpc::ClientContext context;
    return CallRaw(grpc::CreateChannel(absl::StrCat(host, ":", (*server)->port()),
                                       grpc::InsecureChannelCredentials()),
                   "millrace.v1.LabelService/AddLabels", context);
  }
};

TEST_F(GrpcControlTest, ThisMachineMayControl) {
  EXPECT_EQ(AddLabels("127.0.0.1", "127.0.0.1", ControlFrom::kLoopback).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(AddLabels("127.0.0.1", "127.0.0.1", ControlFrom::kNowhere).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(GrpcControlTest, ThisMachineMayControlOverIpv6) {
  const grpc::Status status = AddLabels("::1", "[::1]", ControlFrom::kLoopback);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) GTEST_SKIP() << "needs IPv6";
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << status.error_message();
  EXPECT_EQ(AddLabels("::", "127.0.0.1", ControlFrom::kLoopback).error_code(),
            grpc::StatusCode::NOT_FOUND)
      << "by IPv4, at a port of both";
}

TEST_F(GrpcControlTest, AnotherAddressMayOnlyIfTheConfigurationSaysSo) {
  const std::string address = OtherAddress();
  if (address.empty()) GTEST_SKIP() << "needs an address beside the loopback";
  const grpc::Status refused = AddLabels("0.0.0.0", address, ControlFrom::kLoopback);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("set listen.control to on"));
  EXPECT_EQ(AddLabels("0.0.0.0", address, ControlFrom::kAnywhere).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace millrace::service
