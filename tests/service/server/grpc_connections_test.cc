#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/http_client.h"

namespace millrace::service {
namespace {

/// What a client of HTTP/2 says first.
const std::string kPreface =
    std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9);

/// Has room for four connections. A single client may take at most three.
class GrpcConnectionsTest : public GrpcFixture {
 protected:
  GrpcConnectionsTest() : GrpcConnectionsTest(std::chrono::seconds(60)) {}
  explicit GrpcConnectionsTest(std::chrono::milliseconds max_handshake)
      : GrpcFixture(
            {}, {.max_handshake = max_handshake, .connections = {.in_all = 4, .per_client = 3}}) {}

  /// Whether a client of its own is answered at once. A client that is refused tries again.
  [[nodiscard]] grpc::Status Check(std::chrono::seconds patience = std::chrono::seconds(60)) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + patience);
    ::grpc::health::v1::HealthCheckResponse response;
    return ::grpc::health::v1::Health::NewStub(NewChannel())->Check(&context, {}, &response);
  }

  std::unique_ptr<HttpConnection> Client(const std::string& says = "") {
    auto client = std::make_unique<HttpConnection>(server_->port());
    MILLRACE_CHECK(client->Send(says));
    return client;
  }
  /// The server's first frame: its settings. It sends some whatever the client sends.
  static void WaitForSettings(HttpConnection& client) { ASSERT_EQ(client.ReceiveByte(), '\0'); }
};

TEST_F(GrpcConnectionsTest, ThoseThatSayNothingMakeRoom) {
  std::vector<std::unique_ptr<HttpConnection>> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(Client());
  EXPECT_TRUE(Check().ok());
  EXPECT_EQ(silent.front()->ReceiveByte(), std::nullopt) << "it was closed for another one";
}

TEST_F(GrpcConnectionsTest, ThoseBeyondTheBoundAreRefusedUntilOthersHaveGone) {
  std::vector<std::unique_ptr<HttpConnection>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Client(kPreface));
    WaitForSettings(*clients.back());
  }
  EXPECT_EQ(Client(kPreface)->ReceiveByte(), std::nullopt);
  EXPECT_EQ(counts_.open, 3U);
  clients.clear();
  EXPECT_TRUE(Check().ok());
}

/// Of this process, the server's among them.
std::size_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST_F(GrpcConnectionsTest, ThoseThatHaveGoneMakeRoomAtOnce) {
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<HttpConnection>> clients;
    for (int i = 0; i < 3; ++i) {
      clients.push_back(Client(kPreface));
      ASSERT_NO_FATAL_FAILURE(WaitForSettings(*clients.back())) << "round " << round;
    }
    const std::size_t with_them = OpenFiles();
    clients.clear();
    while (OpenFiles() + 6 > with_them) std::this_thread::yield();  // Both ends of each.
  }
  EXPECT_EQ(counts_.turned_away, 0U);
}

class HastyGrpcTest : public GrpcConnectionsTest {
 protected:
  HastyGrpcTest() : GrpcConnectionsTest(std::chrono::milliseconds(50)) {}
};

TEST_F(HastyGrpcTest, WhoDoesNotBecomeAClientIsLetGo) {
  EXPECT_EQ(Client()->ReceiveByte(), std::nullopt) << "it said nothing";
  const auto slow = Client("PRI * HT");
  while (slow->ReceiveByte()) continue;  // gRPC may say its settings first.
  while (counts_.open > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace millrace::service
