#include "service/net/tcp_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/ip/address.hpp>

#include "spdlog/sinks/base_sink.h"
#include "spdlog/spdlog.h"
#include "tests/service/support/http_client.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

/// Passes the first line of the log on.
class FirstLine final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::future<std::string> line() { return line_.get_future(); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!said_) line_.set_value(std::string(message.payload.begin(), message.payload.end()));
    said_ = true;
  }
  void flush_() override {}

  std::promise<std::string> line_;
  bool said_ = false;
};

class TcpServerTest : public ::testing::Test {
 protected:
  TcpServerTest() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", first_)); }
  ~TcpServerTest() override { spdlog::set_default_logger(usual_); }

  const std::shared_ptr<spdlog::logger> usual_ = spdlog::default_logger();
  const std::shared_ptr<FirstLine> first_ = std::make_shared<FirstLine>();
};

/// It has another port once it listens again.
int PortOf(int socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

TEST(ClientKeyTest, AHostOfIpv6IsItsNetwork) {
  const auto key = [](const char* address) {
    return ClientKey(boost::asio::ip::make_address(address));
  };
  EXPECT_EQ(key("192.0.2.7"), "192.0.2.7");
  EXPECT_NE(key("192.0.2.7"), key("192.0.2.8"));
  EXPECT_EQ(key("2001:db8:1:2::7"), key("2001:db8:1:2:ffff::8"));
  EXPECT_NE(key("2001:db8:1:2::7"), key("2001:db8:1:3::7"));
}

// A socket that no longer listens answers each try with "Invalid argument".
TEST_F(TcpServerTest, SaysThatItCannotAcceptAndAcceptsOnceItCan) {
  std::promise<std::string> accepted;
  const auto server = TcpServer::Listen({.port_key = "listen.http_port"});
  ASSERT_TRUE(server.ok()) << server.status();
  (*server)->Start([&accepted](TcpServer::Socket, const std::string& client,
                               const auto& /*lease*/) { accepted.set_value(client); });
  ASSERT_EQ(shutdown((*server)->descriptor(), SHUT_RD), 0);
  EXPECT_THAT(first_->line().get(),
              HasSubstr("listen.http_port: a connection cannot be accepted: Invalid argument"));
  ASSERT_EQ(listen((*server)->descriptor(), 8), 0);
  const HttpConnection client(PortOf((*server)->descriptor()));
  EXPECT_EQ(accepted.get_future().get(), "127.0.0.1");
}

}  // namespace
}  // namespace millrace::service
