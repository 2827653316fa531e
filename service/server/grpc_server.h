// The gRPC server: predictions, streams, labels, health and reflection on one port.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "service/access/grpc_security.h"
#include "service/api/stream_service.h"
#include "service/net/connection_bounds.h"

namespace millrace::service {

/// So many streams are changed at a time: a camera that keeps a change waiting, for its first
/// picture or its last, keeps no other waiting.
inline constexpr std::size_t kChangesAtOnce = 32;

/// Serves from Start() until Shutdown(). Thread-safe.
class GrpcServer {
 public:
  struct Options {
    /// An IP address of this machine.
    std::string address = "127.0.0.1";
    /// 0 takes a free one.
    int port = 0;
    /// A client that takes nothing of what it is streamed for so long is let go.
    std::chrono::nanoseconds stall_limit = std::chrono::seconds(10);
    /// A connection is ended so long after it began, give or take a tenth, so that clients spread
    /// anew over servers behind one name; what streams on it goes on for `connection_grace` and
    /// then ends with UNAVAILABLE. 0: never.
    std::chrono::milliseconds connection_age = std::chrono::hours(1);
    std::chrono::milliseconds connection_grace = std::chrono::seconds(5);
    /// A connection that has been silent for `keepalive_time` is asked for a sign of life, and is
    /// over, with all that runs on it, where none comes within `keepalive_timeout`: a client whose
    /// network broke is noticed after both at most.
    std::chrono::milliseconds keepalive_time = std::chrono::seconds(30);
    std::chrono::milliseconds keepalive_timeout = std::chrono::seconds(10);
    /// A connection whose client says nothing is ended after so long, and one whose client does not
    /// finish its handshake so long after its first byte.
    std::chrono::milliseconds most_handshake = std::chrono::seconds(10);
    ConnectionLimits connections = {};
    /// Must outlive the server. Null: nobody asks.
    ConnectionCounts* counts = nullptr;
    GrpcSecurity security = {};
  };

  /// Starts to serve the streams of `api`, whose parts must outlive the server. Fails with
  /// UNAVAILABLE if it cannot listen there, saying where, and as Admission::Make() and
  /// MakeCredentials() do.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const Options& options,
                                                                         const StreamApi& api);

  virtual ~GrpcServer() = default;

  /// The port that it listens on.
  [[nodiscard]] virtual int port() const = 0;

  /// Tells health checks NOT_SERVING, and serves on: for a load balancer to look away. Idempotent.
  virtual void Drain() = 0;
  /// Refuses new calls, waits up to `grace` for those under way, then cancels them. Stop the
  /// streams first, and subscribers get what the rings still hold and are told why there is no
  /// more; close the events then, and watchers are, too: both end without waiting. Idempotent.
  virtual void Shutdown(std::chrono::nanoseconds grace) = 0;
};

}  // namespace millrace::service
