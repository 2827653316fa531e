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

/// Limit of concurrent changes to streams. A change that waits for its camera's first or last
/// picture delays no other change.
inline constexpr std::size_t kChangesAtOnce = 32;

/// Serves from Start() until Shutdown(). Thread-safe.
class GrpcServer {
 public:
  struct Options {
    /// An IP address of this machine.
    std::string address = "127.0.0.1";
    /// 0: the system chooses a free port.
    int port = 0;
    /// A streaming client that reads nothing for this long is disconnected.
    std::chrono::nanoseconds stall_limit = std::chrono::seconds(10);
    /// A connection is closed after this age, plus or minus a tenth, so that clients spread again
    /// over servers behind one name. Calls on it continue for `connection_grace` and then end with
    /// UNAVAILABLE. 0: no limit.
    std::chrono::milliseconds connection_age = std::chrono::hours(1);
    std::chrono::milliseconds connection_grace = std::chrono::seconds(5);
    /// A connection that is silent for `keepalive_time` gets a ping. Without an answer within
    /// `keepalive_timeout` it is closed, with all its calls. So a client with a broken network is
    /// noticed after at most the sum of both.
    std::chrono::milliseconds keepalive_time = std::chrono::seconds(30);
    std::chrono::milliseconds keepalive_timeout = std::chrono::seconds(10);
    /// A connection is closed if its client sends nothing for this long, or does not finish its
    /// handshake within this time after its first byte.
    std::chrono::milliseconds max_handshake = std::chrono::seconds(10);
    ConnectionLimits connections = {};
    /// Must outlive the server. Null: no external counters.
    ConnectionCounts* counts = nullptr;
    GrpcSecurity security = {};
  };

  /// Starts to serve the streams of `api`, whose parts must outlive the server. Fails with
  /// UNAVAILABLE if it cannot listen (the message names the address), and as Admission::Make() and
  /// MakeCredentials() do.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const Options& options,
                                                                         const StreamApi& api);

  ~GrpcServer();

  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  /// The port in use.
  [[nodiscard]] int port() const;

  /// Reports NOT_SERVING to health checks, so that load balancers stop sending clients, and goes on
  /// serving. Idempotent.
  void Drain();
  /// Refuses new calls, waits up to `grace` for pending ones, then cancels them. Stop the streams
  /// first: subscribers then get the rest of the rings and a final status. Close the events next:
  /// watchers then get theirs. Both kinds of calls then end without a wait. Idempotent.
  void Shutdown(std::chrono::nanoseconds grace);

 private:
  class Services;  // Hides the headers of gRPC and of the services.

  explicit GrpcServer(std::unique_ptr<Services> services);

  const std::unique_ptr<Services> services_;
};

}  // namespace millrace::service
