// Listens on a port, accepts within bounds, and waits for what comes, all on one thread: what HTTP
// and gRPC stand on.
//
// Whatever happens, it goes on accepting. Where no descriptor is left it closes a connection that
// only waits, or tries again in a moment.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "service/connection_bounds.h"

namespace millrace::service {

/// Thread-safe, but for what is said otherwise. What handlers on its loop refer to must outlive it,
/// or Join().
class TcpServer {
 public:
  struct Options {
    /// An IP address of this machine. "::" listens for IPv4, too.
    std::string address = "127.0.0.1";
    /// 0 takes a free port.
    int port = 0;
    /// Names the configuration's key in errors: "listen.http_port".
    std::string port_key = {};
    ConnectionLimits connections = {};
    /// Must outlive the server. Null: nobody asks.
    ConnectionCounts* counts = nullptr;
  };
  using Socket = boost::asio::ip::tcp::socket;
  /// Takes over a connection of the address `client`, on the loop's thread. `lease` is not null.
  using OnConnection = std::function<void(Socket socket, std::string client,
                                          std::unique_ptr<ConnectionBounds::Lease> lease)>;

  /// Listens, and takes no connection before Start(). Fails with UNAVAILABLE, naming address, port
  /// and what to change, where it cannot listen.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TcpServer>> Listen(Options options);

  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;
  /// Stops at once.
  ~TcpServer();

  /// REQUIRES: called once.
  void Start(OnConnection on_connection);
  /// Begins to stop and returns at once: it listens no more, closes what only waits, and ends once
  /// nothing is under way, or after `grace`. Only the first call counts.
  void BeginStop(std::chrono::milliseconds grace);
  /// Waits for the end. REQUIRES: BeginStop() was called, or Start() was not. For one thread.
  void Join();

  [[nodiscard]] boost::asio::io_context& loop() { return loop_; }
  /// The port that it really listens on.
  [[nodiscard]] int port() const { return port_; }
  /// What it listens with. REQUIRES: BeginStop() was not called.
  [[nodiscard]] int descriptor() { return acceptor_.native_handle(); }

 private:
  using ErrorCode = boost::system::error_code;

  explicit TcpServer(Options options);
  [[nodiscard]] ErrorCode Bind();
  void Run();
  void Accept();
  void Admit(Socket socket);
  /// Accepts again: at once where that has a chance, else in a moment.
  void Recover(const ErrorCode& error);

  // Constant after Start().
  const Options options_;
  int port_ = 0;
  OnConnection on_connection_;

  // Of the loop's thread, once there is one.
  ConnectionBounds bounds_;  // Outlives the connections, which the loop destroys with itself.
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  std::chrono::milliseconds grace_{0};
  bool stopping_ = false;

  std::jthread thread_;
};

}  // namespace millrace::service
