// Listens on a port, accepts within bounds, and runs the loop of all its connections on one thread.
// The HTTP servers and the gRPC server use it.
//
// No failure ends the accepting. Where no descriptor is left, the server closes a connection that
// only waits, or tries again after 50 ms. So it does after an exception or an unknown error.
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
#include <utility>

#include "absl/status/statusor.h"
#include "service/net/connection_bounds.h"

namespace millrace::service {

/// Thread-safe, except where a function says otherwise. Objects that handlers on its loop refer to
/// must outlive it, or Join().
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
    /// Must outlive the server. Null: the server counts for itself.
    ConnectionCounts* counts = nullptr;
  };
  using Socket = boost::asio::ip::tcp::socket;
  /// Takes over a connection from the address `client`, on the loop's thread. `lease` is not null.
  using OnConnection = std::function<void(Socket socket, std::string client,
                                          std::unique_ptr<ConnectionBounds::Lease> lease)>;

  /// Listens, and takes no connection before Start(). Fails with UNAVAILABLE where it cannot
  /// listen. The message names the address, the port and the key to change.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TcpServer>> Listen(Options options);

  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;
  /// Stops at once.
  ~TcpServer();

  /// REQUIRES: called once.
  void Start(OnConnection on_connection);
  /// Begins to stop and returns at once. The server listens no more and closes connections that
  /// only wait. It ends once no operation is under way, or after `grace`. Only the first call
  /// counts.
  void BeginStop(std::chrono::milliseconds grace);
  /// Waits for the end. REQUIRES: BeginStop() was called, or Start() was not. For one thread.
  void Join();

  /// As ConnectionBounds::SetRelease(). `release` is called on the loop's thread. REQUIRES: Start()
  /// was not called.
  void SetRelease(std::function<void()> release) { bounds_.SetRelease(std::move(release)); }

  [[nodiscard]] boost::asio::io_context& loop() { return loop_; }
  /// The port in use, also where the options left the choice to the system.
  [[nodiscard]] int port() const { return port_; }
  /// The listening socket. REQUIRES: BeginStop() was not called.
  [[nodiscard]] int descriptor() { return acceptor_.native_handle(); }

 private:
  using ErrorCode = boost::system::error_code;

  explicit TcpServer(Options options);
  [[nodiscard]] ErrorCode Bind();
  void Run();
  void Accept();
  void Admit(Socket socket);
  /// Accepts again after `error`: at once where that has a chance, else after a pause.
  void Recover(const ErrorCode& error);

  // Constant after Start().
  const Options options_;
  int port_ = 0;
  OnConnection on_connection_;

  // For the loop's thread alone, once it runs.
  ConnectionBounds bounds_;  // Outlives the connections, which the loop destroys with itself.
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  bool accepting_ = false;  // Waits for a connection, or for the end of a pause.
  std::chrono::milliseconds grace_{0};
  bool stopping_ = false;

  std::jthread thread_;
};

}  // namespace millrace::service
