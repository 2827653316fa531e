// The simplest client that speaks HTTP: a request over a real socket, the whole answer back.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"

namespace millrace::service {

struct HttpAnswer {
  int status = 0;
  std::string headers;
  std::string body;
};

/// A connection to 127.0.0.1:`port`. Closed at destruction.
class HttpConnection {
 public:
  explicit HttpConnection(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MILLRACE_CHECK(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection() { close(socket_); }

  /// Whether `text` went on its way, which it does not once the server has closed.
  bool Send(std::string_view text) {
    return send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  HttpAnswer Ask(std::string_view method, std::string_view target,
                 std::string_view host = "localhost") {
    const std::string request = std::string(method) + " " + std::string(target) +
                                " HTTP/1.1\r\nHost: " + std::string(host) +
                                "\r\nConnection: close\r\n\r\n";
    MILLRACE_CHECK(Send(request));
    return Receive();
  }

  /// The next byte that the server says; nullopt: it closes.
  std::optional<char> ReceiveByte() {
    char byte = 0;
    if (recv(socket_, &byte, 1, 0) != 1) return std::nullopt;
    return byte;
  }

  /// What the server says until it closes. Status 0: nothing that is an answer.
  HttpAnswer Receive() {
    std::string text;
    char buffer[4096];
    while (true) {
      const ssize_t received = recv(socket_, buffer, sizeof(buffer), 0);
      if (received <= 0) break;
      text.append(buffer, static_cast<std::size_t>(received));
    }
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) return {};
    return {.status = std::stoi(text.substr(text.find(' ') + 1)),
            .headers = text.substr(0, end),
            .body = text.substr(end + 4)};
  }

 private:
  const int socket_;
};

inline HttpAnswer Get(int port, std::string_view target) {
  return HttpConnection(port).Ask("GET", target);
}

}  // namespace millrace::service
