// Accepts connections for gRPC, and hands them over.
//
// gRPC 1.51 accepts without a bound, and once the process has no descriptor left its listener never
// accepts again. So a TcpServer accepts in its place. A connection is handed over once its client
// has said something: until then it costs gRPC nothing and may be closed for another one.
//
// gRPC does not say when a connection ends. So the descriptors are looked at twice a second, and
// before a connection is refused: one that is another socket by now has ended.
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

/// Hands over from its construction to Stop(). For one thread.
class GrpcHandover {
 public:
  struct Options {
    /// A client that has said nothing for so long is let go.
    std::chrono::milliseconds most_silent = std::chrono::seconds(10);
    /// So is one that has not acknowledged what was sent for so long (TCP_USER_TIMEOUT).
    std::chrono::milliseconds most_unacknowledged = std::chrono::seconds(10);
  };
  using Grpc = grpc::experimental::ExternalConnectionAcceptor;

  /// REQUIRES: the server of `grpc` has been started.
  GrpcHandover(std::unique_ptr<TcpServer> tcp, std::unique_ptr<Grpc> grpc, Options options);
  ~GrpcHandover() { Stop(); }

  GrpcHandover(const GrpcHandover&) = delete;
  GrpcHandover& operator=(const GrpcHandover&) = delete;

  /// Accepts no more. Those that were handed over stay gRPC's. Before gRPC is shut down.
  /// Idempotent.
  void Stop();

  [[nodiscard]] int port() const { return tcp_->port(); }

 private:
  struct Silent;
  struct Handed {
    int descriptor;
    ino_t inode;  // That no other socket has, whatever has the descriptor now.
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

  // Of the loop's thread.
  std::vector<Handed> handed_;
  boost::asio::steady_timer look_;
  std::chrono::steady_clock::time_point next_look_;  // At the earliest.
};

}  // namespace millrace::service
