// A camera that accepts and says nothing, or that is not there.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace millrace::ingest {

/// A TCP port of this machine that is bound, and perhaps listens, but never says a word.
class SilentPort {
 public:
  explicit SilentPort(bool listens) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    const int yes = 1;
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_TRUE(!listens || listen(socket_, 16) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { close(socket_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string Url() const {
    return "rtsp://user:secret@127.0.0.1:" + std::to_string(port_) + "/live";
  }

 private:
  const int socket_;
  int port_ = 0;
};

}  // namespace millrace::ingest
