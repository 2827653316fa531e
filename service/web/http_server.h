// A small web server with an owner: it listens from its start to its destruction, with a table of
// routes.
//
// One thread waits for all connections, so that idle and slow ones keep no request waiting. A few
// other threads run the handlers, and one more those of probes. Metrics and probes have a server of
// their own, so that viewers of the live page do not delay them.
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

/// Answers by its routes, and HEAD as GET. Other methods get 405, other paths 404. A text that is
/// no request gets 400, one that comes too slowly 408, one that is too long 431, and a request
/// beyond `requests` 503. The server reads no body: it answers once it has a request's header, and
/// closes.
///
/// Thread-safe. Handlers run on the server's own threads, several at once, until the destructor
/// returns. Objects that they refer to must outlive the server.
class HttpServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    /// 0 takes a free port.
    int port = 0;
    /// Requests answered at once, beside one of probes.
    int threads = 4;
    /// Requests that wait for a thread or are answered now. Those of probes have as many again.
    ConnectionLimits requests = {.in_all = 256, .per_client = 128};
    /// Bytes of answers that their clients have not taken yet. Beyond them the oldest is given up.
    std::size_t most_untaken_bytes = std::size_t{64} << 20;
    /// Within which a request has to come, so that no client holds a connection by saying nothing,
    /// and its answer to be taken.
    std::chrono::milliseconds most_reading = std::chrono::seconds(10);
    std::chrono::milliseconds most_writing = std::chrono::seconds(30);
    /// For the answers under way when the server begins to stop.
    std::chrono::milliseconds stop_grace = std::chrono::seconds(1);
    ConnectionLimits connections = {};
    /// Must outlive the server. Null: the server counts for itself.
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
