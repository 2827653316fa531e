// Accepts connections for gRPC, and hands them over to it.
//
// gRPC 1.51 accepts without a bound, and after the process runs out of descriptors its listener
// never accepts again. So a TcpServer accepts in its place. A connection is handed over once its
// client has sent data. Until then it costs gRPC nothing and may be closed for another connection.
//
// gRPC does not report the end of a connection. So GrpcHandover checks the descriptors twice a
// second, and before it refuses a connection. If a descriptor refers to another socket now, its
// connection has ended.
#pragma once

#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "service/net/connection_bounds.h"
#include "service/net/tcp_server.h"

namespace millrace::service {

/// Hands over connections from construction to Stop(). For one thread.
class GrpcHandover {
 public:
  struct Options {
    /// A client that sends no data for this long is disconnected.
    std::chrono::milliseconds max_silence = std::chrono::seconds(10);
    /// So is a client that does not acknowledge sent data for this long (TCP_USER_TIMEOUT).
    std::chrono::milliseconds max_unacknowledged = std::chrono::seconds(10);
  };
  using Grpc = grpc::experimental::ExternalConnectionAcceptor;

  /// REQUIRES: the server of `grpc` has been started.
  GrpcHandover(std::unique_ptr<TcpServer> tcp, std::unique_ptr<Grpc> grpc, Options options);
  ~GrpcHandover() { Stop(); }

  GrpcHandover(const GrpcHandover&) = delete;
  GrpcHandover& operator=(const GrpcHandover&) = delete;

  /// Stops accepting. Connections that were handed over stay with gRPC. Call it before gRPC is shut
  /// down. Idempotent.
  void Stop();

  [[nodiscard]] int port() const { return tcp_->port(); }

 private:
  struct Silent;
  struct Handed {
    int descriptor;
    ino_t inode;  // Identifies the socket, even if its descriptor is reused.
    std::unique_ptr<ConnectionBounds::Lease> lease;
  };

  void Take(TcpServer::Socket socket, std::unique_ptr<ConnectionBounds::Lease> lease);
  void OnHeard(Silent& connection);
  void LookEverySoOften();
  void ReleaseGone();

  // Constant after construction.
  const Options options_;
  const std::unique_ptr<TcpServer> tcp_;
  const std::unique_ptr<Grpc> grpc_;

  // Used only by the loop's thread.
  std::vector<Handed> handed_;
  boost::asio::steady_timer look_;
  std::chrono::steady_clock::time_point next_look_;  // Earliest time.
};

}  // namespace millrace::service
