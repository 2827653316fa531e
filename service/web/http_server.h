// A small web server with a table of routes. It listens from its start to its destruction.
//
// One thread waits for all connections, so idle and slow connections delay no request. A few other
// threads run the handlers, and one more thread runs the probes' handlers. Metrics and probes have
// a separate server, so that viewers of the live page do not delay them.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/net/connection_bounds.h"
#include "service/net/http_message.h"

namespace millrace::service {

/// Answers by its routes, and answers HEAD like GET. Other methods get 405, other paths 404. Text
/// that is no request gets 400, a slow request 408, a request with a long header 431, and a request
/// beyond `requests` 503. The server reads no body: it answers once it has a request's header, and
/// closes.
///
/// Thread-safe. Handlers run on the server's own threads, several at once, until the destructor
/// returns. Objects that they refer to must outlive the server.
class HttpServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    /// 0: the system chooses a free port.
    int port = 0;
    /// Threads that answer requests. Probes have one more thread.
    int threads = 4;
    /// Limit of requests that wait or are being answered. Probes have the same limit, counted
    /// separately.
    ConnectionLimits requests = {.in_all = 256, .per_client = 128};
    /// Limit of answers' bytes that clients have not yet received. Beyond it the oldest answer is
    /// dropped.
    std::size_t max_untaken_bytes = std::size_t{64} << 20;
    /// Time limits for receiving a request and for sending its answer, so that a silent client
    /// cannot hold a connection.
    std::chrono::milliseconds max_reading = std::chrono::seconds(10);
    std::chrono::milliseconds max_writing = std::chrono::seconds(30);
    /// Grace period for pending answers after BeginStop().
    std::chrono::milliseconds stop_grace = std::chrono::seconds(1);
    ConnectionLimits connections = {};
    /// Must outlive the server. Null: no external counters.
    ConnectionCounts* counts = nullptr;
    /// The configuration's key, for error messages: "listen.http_port".
    std::string port_key = {};
    std::vector<HttpRoute> routes = {};
  };

  /// Listens and answers. Fails with UNAVAILABLE if it cannot listen; the message names address,
  /// port and the key to change.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// Begins to stop and returns at once. The server stops listening, and has `stop_grace` to send
  /// pending answers. The destructor waits for the end. Idempotent.
  void BeginStop();

  /// The actual port.
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
