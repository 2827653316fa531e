// A small web server with an owner: it listens from its start to its destruction, with a table of
// routes.
//
// One thread waits for all connections, so that any number of them, idle or slow, keeps nobody
// waiting; a few others run the handlers. Metrics and probes have a server of their own, so that
// people who watch the live page cannot starve what watches the server.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/connection_bounds.h"
#include "service/http_message.h"

namespace millrace::service {

/// Answers by its routes, HEAD as GET; 405 to other methods, 404 to other paths, 400, 408 and 431
/// to what is no request, comes too slowly or is too long. Reads no body: it answers once it has a
/// request's header, and closes.
///
/// Thread-safe. Handlers run on the server's own threads, several at once, until the destructor
/// returns; what they refer to must outlive the server.
class HttpServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    /// 0 takes a free port.
    int port = 0;
    /// Requests answered at once.
    int threads = 4;
    /// Within which a request has to come, so that nobody holds a connection by saying nothing, and
    /// its answer to be taken.
    std::chrono::milliseconds most_reading = std::chrono::seconds(10);
    std::chrono::milliseconds most_writing = std::chrono::seconds(30);
    /// For the answers under way when the server begins to stop.
    std::chrono::milliseconds stop_grace = std::chrono::seconds(1);
    ConnectionLimits connections = {};
    /// Must outlive the server. Null: nobody asks.
    ConnectionCounts* counts = nullptr;
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

  /// Begins to stop and returns at once: it listens no more, and has `stop_grace` to send the
  /// answers under way. The destructor waits for the end. Idempotent.
  void BeginStop();

  /// The port that it really listens on.
  [[nodiscard]] int port() const;
  /// "http://127.0.0.1:8080".
  [[nodiscard]] std::string url() const;

 private:
  struct Running;
  explicit HttpServer(std::string address);

  // Constant after Start().
  const std::string address_;
  std::unique_ptr<Running> running_;
};

}  // namespace millrace::service
