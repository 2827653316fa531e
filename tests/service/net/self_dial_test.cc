#include "service/net/self_dial.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bounded_queue.h"
#include "base/check.h"
#include "service/web/http_server.h"
#include "tests/service/support/http_client.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Listens, but does nothing with the connections that the system accepts.
class DeafPort {
 public:
  DeafPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MILLRACE_CHECK(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    MILLRACE_CHECK(listen(socket_, 1000) == 0);
    socklen_t size = sizeof(address);
    MILLRACE_CHECK(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    number_ = ntohs(address.sin_port);
  }
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;
  ~DeafPort() { close(socket_); }

  /// Does something with the next one.
  void Accept() const { close(accept(socket_, nullptr, nullptr)); }
  [[nodiscard]] int number() const { return number_; }

 private:
  const int socket_;
  int number_ = 0;
};

class SelfDialTest : public ::testing::Test {
 protected:
  std::unique_ptr<SelfDial> Dial(int port, milliseconds patience = milliseconds(20)) {
    return std::make_unique<SelfDial>(SelfDial::Options{
        .ports = {{.name = "gRPC", .address = "0.0.0.0", .number = port}},
        .every = milliseconds(1),
        .patience = patience,
        .failures = 3,
        .tell = [this](std::string why) { told_.PushOrDropOldest(std::move(why)); }});
  }

  /// Accepts often enough that one dial succeeds in time.
  static void AcceptSome(const DeafPort& port) {
    for (int i = 0; i < 50; ++i) port.Accept();
  }

  BoundedQueue<std::string> told_{1000};
};

TEST_F(SelfDialTest, TellsOfAPortThatNoLongerTakesConnectionsAndThatItDoesAgain) {
  const DeafPort port;
  const auto dial = Dial(port.number());
  AcceptSome(port);
  EXPECT_THAT(told_.Pop().value(), HasSubstr("gRPC at 0.0.0.0:" + std::to_string(port.number()) +
                                             " takes no connections: "));
  // Connections that the dial gave up are before the next one in the port's queue.
  while (told_.size() == 0) port.Accept();
  EXPECT_EQ(told_.Pop(), "");
}

TEST_F(SelfDialTest, TellsOfAPortThatIsClosed) {
  auto port = std::make_unique<DeafPort>();
  const auto dial = Dial(port->number());
  AcceptSome(*port);
  port.reset();
  // Where this thread was late to accept, that is told first.
  while (told_.Pop().value().find("takes no connections: Connection refused") ==
         std::string::npos) {
  }
}

TEST_F(SelfDialTest, SaysNothingOfAServerThatAnswers) {
  ConnectionCounts counts;
  const auto server =
      HttpServer::Start({.connections = {.in_all = 1, .per_client = 1}, .counts = &counts});
  ASSERT_TRUE(server.ok()) << server.status();
  {
    const auto dial = Dial((*server)->port(), std::chrono::seconds(60));
    // So that it is full while it is dialled: one takes the place of the other.
    std::unique_ptr<HttpConnection> held;
    while (counts.turned_away < 20) {
      held = std::make_unique<HttpConnection>((*server)->port());
    }
  }
  EXPECT_EQ(told_.size(), 0U);
}

}  // namespace
}  // namespace millrace::service
