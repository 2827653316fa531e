// RTSP by hand: for cameras that say what no RTSP server does.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {

/// A TCP port of this machine that listens.
class Port {
 public:
  Port() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    number_ = ntohs(address.sin_port);
  }
  ~Port() { close(socket_); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] int number() const { return number_; }
  /// Waits for a client. -1: Close() was called.
  [[nodiscard]] int Accept() const { return accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC); }
  void Close() const { shutdown(socket_, SHUT_RDWR); }

 private:
  const int socket_;
  int number_ = 0;
};

/// What a client says until it is gone or has asked something.
inline std::string Request(int client) {
  std::string text;
  char piece[4096];
  while (text.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = recv(client, piece, sizeof(piece), 0);
    if (size <= 0) break;
    text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

/// The answer to `request`, with `more` lines of header.
inline std::string Answer(const std::string& request, const std::string& code,
                          const std::string& more) {
  const std::size_t at = request.find("CSeq: ");
  return absl::StrCat("RTSP/1.0 ", code, "\r\n", request.substr(at, request.find("\r\n", at) - at),
                      "\r\n", more, "\r\n");
}

}  // namespace millrace::ingest
