// Listens on a port, accepts within bounds, and runs the loop of all its connections on one thread.
// The HTTP servers and the gRPC server use it.
//
// No failure ends the accepting. If no descriptor is left, the server closes a connection that only
// waits, or retries after 50 ms. It retries in the same way after an exception or an unknown error.
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

/// The key under which a client's connections are counted. For IPv6 it is the /64 network, because
/// one host may choose any address in it.
[[nodiscard]] std::string ClientKey(const boost::asio::ip::address& address);

/// Thread-safe, except where a function says otherwise. Objects that handlers on its loop refer to
/// must outlive it, or its Join().
class TcpServer {
 public:
  struct Options {
    /// An IP address of this machine. "::" also listens for IPv4.
    std::string address = "127.0.0.1";
    /// 0: the system chooses a free port.
    int port = 0;
    /// The configuration's key, for error messages: "listen.http_port".
    std::string port_key = {};
    ConnectionLimits connections = {};
    /// Must outlive the server. Null: no external counters.
    ConnectionCounts* counts = nullptr;
  };
  using Socket = boost::asio::ip::tcp::socket;
  /// Takes over a connection of the client at address `client`, on the loop's thread. `lease` is
  /// not null.
  using OnConnection = std::function<void(Socket socket, std::string client,
                                          std::unique_ptr<ConnectionBounds::Lease> lease)>;

  /// Listens, but accepts no connection before Start(). Fails with UNAVAILABLE if it cannot listen.
  /// The message names the address, the port and the key to change.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TcpServer>> Listen(const Options& options);

  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;
  /// Stops without a grace period.
  ~TcpServer();

  /// REQUIRES: called once.
  void Start(OnConnection on_connection);
  /// Begins to stop and returns at once. The server stops listening and closes connections that
  /// only wait. It ends when no operation is pending, or after `grace`. Only the first call has an
  /// effect.
  void BeginStop(std::chrono::milliseconds grace);
  /// Waits for the end. REQUIRES: BeginStop() was called, or Start() was not. Call it from one
  /// thread only.
  void Join();

  /// As ConnectionBounds::SetRelease(). `release` is called on the loop's thread. REQUIRES: Start()
  /// was not called.
  void SetRelease(std::function<void()> release) { bounds_.SetRelease(std::move(release)); }

  [[nodiscard]] boost::asio::io_context& loop() { return loop_; }
  /// The port in use, also if the system chose it.
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
  /// Accepts again after `error`: at once if that may succeed, else after a pause.
  void Recover(const ErrorCode& error);

  // Constant after Start().
  const Options options_;
  int port_ = 0;
  OnConnection on_connection_;

  // Used only by the loop's thread, once it runs.
  ConnectionBounds bounds_;  // Outlives the connections, which the loop destroys with itself.
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  bool accepting_ = false;  // A connection or the end of a pause is awaited.
  std::chrono::milliseconds grace_{0};
  bool stopping_ = false;

  std::jthread thread_;
};

}  // namespace millrace::service
