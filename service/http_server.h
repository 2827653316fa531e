// A small web server with an owner: civetweb's C context, started at construction and stopped at
// destruction, with a table of routes.
//
// Metrics and probes have one of their own, so that people who watch the live page cannot starve
// what watches the server.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "service/http_message.h"

struct mg_context;

namespace millrace::service {

/// Answers by its routes, HEAD as GET; 405 to other methods, 404 to other paths. Reads no body: it
/// answers once it has a request's headers, and closes.
///
/// Thread-safe. Handlers run on the server's own threads, several at once, until the destructor
/// returns; what they refer to must outlive the server.
class HttpServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    /// 0 takes a free port.
    int port = 0;
    /// Requests answered at once. Connections are not kept open, so that an idle browser holds
    /// none.
    int threads = 4;
    /// Names the configuration's key in errors: "listen.http_port".
    std::string port_key = {};
    std::vector<HttpRoute> routes = {};
  };

  /// Listens and answers. Fails with UNAVAILABLE, naming address, port and what to change, where it
  /// cannot listen.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// Begins to stop and returns at once; the destructor waits for the end.
  /// For one thread. Idempotent.
  void BeginStop();

  /// The port that it really listens on.
  [[nodiscard]] int port() const { return port_; }
  /// "http://127.0.0.1:8080".
  [[nodiscard]] std::string url() const;

 private:
  explicit HttpServer(Options options);
  absl::Status Listen();
  void Stop();

  // Constant after Start().
  const Options options_;
  mg_context* context_ = nullptr;  // Owned; civetweb frees it when it stops.
  int port_ = 0;

  // Of the owner's thread.
  bool stopping_ = false;
  std::jthread stopper_;
};

/// `address` as it stands in a URL: IPv6 in brackets.
[[nodiscard]] std::string UrlHost(std::string_view address);

}  // namespace millrace::service
