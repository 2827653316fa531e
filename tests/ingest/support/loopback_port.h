// A TCP port of this machine, for cameras that send invalid answers, or no answer.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace millrace::ingest {

/// A free port that is bound, and by default listens. Thread-safe.
class LoopbackPort {
 public:
  /// For the constructor: connections are refused.
  static constexpr int kDoesNotListen = -1;

  /// `backlog`: connections that may wait to be accepted.
  explicit LoopbackPort(int backlog = 16)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    // So that a camera may listen there afterwards.
    const int yes = 1;
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
    EXPECT_TRUE(backlog == kDoesNotListen || listen(socket_, backlog) == 0);
  }
  ~LoopbackPort() { close(socket_); }
  LoopbackPort(const LoopbackPort&) = delete;
  LoopbackPort& operator=(const LoopbackPort&) = delete;

  [[nodiscard]] int number() const { return ntohs(address_.sin_port); }
  [[nodiscard]] const sockaddr_in& address() const { return address_; }
  /// With a login.
  [[nodiscard]] std::string Url() const {
    return "rtsp://user:secret@127.0.0.1:" + std::to_string(number()) + "/live";
  }
  /// Waits for a client. -1: Close() was called.
  [[nodiscard]] int Accept() const { return accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC); }
  void Close() const { shutdown(socket_, SHUT_RDWR); }

 private:
  const int socket_;
  sockaddr_in address_ = {};
};

}  // namespace millrace::ingest
