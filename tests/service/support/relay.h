// A network between a client and a server that a test can cut, as a power failure does: without a
// word to either side.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <stop_token>
#include <thread>

namespace millrace::service {

/// A TCP socket, closed at the end.
class TcpSocket {
 public:
  explicit TcpSocket(int fd) : fd_(fd) { EXPECT_GE(fd_, 0); }
  ~TcpSocket() { close(fd_); }
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
};

/// Forwards bytes between the first client of `port()` and the server at another port of this
/// machine. Thread-safe.
class Relay {
 public:
  explicit Relay(int server_port) : server_port_(server_port) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_.fd(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.fd(), 1), 0);
    EXPECT_EQ(getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  [[nodiscard]] int port() const { return port_; }
  /// How often something came from the server.
  [[nodiscard]] std::uint64_t heard_of_server() const { return heard_of_server_; }
  /// From now on it discards all bytes.
  void Cut() { cut_ = true; }

 private:
  static constexpr int kLookMs = 5;

  static int Open() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }

  void Run(const std::stop_token& stop) {
    pollfd came{.fd = listener_.fd(), .events = POLLIN, .revents = 0};
    while (poll(&came, 1, kLookMs) == 0) {
      if (stop.stop_requested()) return;
    }
    const TcpSocket client(accept(listener_.fd(), nullptr, nullptr));
    const TcpSocket server(Open());
    const sockaddr_in address = Loopback(server_port_);
    EXPECT_EQ(connect(server.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    while (!stop.stop_requested() && Pass(client, server)) continue;
    while (!stop.stop_requested()) poll(nullptr, 0, kLookMs);  // An end that is lost is not told.
  }

  /// What has come from either. False once one of them has ended.
  bool Pass(const TcpSocket& client, const TcpSocket& server) {
    std::array<pollfd, 2> ends = {pollfd{.fd = client.fd(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = server.fd(), .events = POLLIN, .revents = 0}};
    poll(ends.data(), ends.size(), kLookMs);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends.at(i).revents == 0) continue;
      const ssize_t size = recv(ends.at(i).fd, buffer_.data(), buffer_.size(), 0);
      if (size <= 0) return false;
      if (i == 1) ++heard_of_server_;
      if (!cut_) send(ends.at(1 - i).fd, buffer_.data(), static_cast<std::size_t>(size), 0);
    }
    return true;
  }

  // Constant after construction.
  const int server_port_;
  const TcpSocket listener_{Open()};
  int port_ = 0;

  std::atomic<std::uint64_t> heard_of_server_ = 0;
  std::atomic<bool> cut_ = false;

  // Of the thread.
  std::array<char, 1 << 16> buffer_;

  std::jthread thread_;
};

}  // namespace millrace::service
