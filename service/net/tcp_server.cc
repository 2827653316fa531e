#include "service/net/tcp_server.h"

#include <fcntl.h>

#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/net/http_message.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Pause before a retry: another part of the process may close a file meanwhile.
constexpr std::chrono::milliseconds kPause(50);

/// Maps an IPv4 address on an IPv6 socket to its IPv4 form: "192.0.2.7".
asio::ip::address AddressOf(const tcp::endpoint& endpoint) {
  asio::ip::address address = endpoint.address();
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

bool LacksDescriptors(const boost::system::error_code& error) {
  return error == asio::error::no_descriptors || error == asio::error::no_memory ||
         error == asio::error::no_buffer_space ||
         error == boost::system::errc::too_many_files_open_in_system;
}

/// Whether `error` concerns only the connection that was to be accepted (accept(2), "Error
/// handling").
bool IsOfItsClient(const boost::system::error_code& error) {
  namespace errc = boost::system::errc;
  return error == errc::connection_aborted || error == errc::protocol_error ||
         error == errc::no_protocol_option || error == errc::operation_not_permitted ||
         error == errc::operation_not_supported || error == errc::host_unreachable ||
         error == errc::network_down || error == errc::network_unreachable;
}

absl::Status CannotListen(const TcpServer::Options& options, const std::string& why) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", UrlHost(options.address), ":", options.port, ": ", why,
                   ". Stop what listens there, or change ", options.port_key,
                   " in the configuration (0 takes a free port)"));
}

}  // namespace

std::string ClientKey(const asio::ip::address& address) {
  if (!address.is_v6()) return address.to_string();
  return asio::ip::network_v6(address.to_v6(), 64).canonical().to_string();
}

absl::StatusOr<std::unique_ptr<TcpServer>> TcpServer::Listen(const Options& options) {
  try {
    std::unique_ptr<TcpServer> server(new TcpServer(options));
    if (const ErrorCode error = server->Bind()) return CannotListen(options, error.message());
    return server;
  } catch (const boost::system::system_error& error) {  // The loop itself needs descriptors.
    return CannotListen(options, error.code().message());
  }
}

TcpServer::TcpServer(Options options)
    : options_(std::move(options)),
      bounds_(options_.connections, options_.counts),
      work_(loop_.get_executor()),
      acceptor_(loop_),
      pause_(loop_) {}

TcpServer::~TcpServer() {
  BeginStop({});
  Join();
}

TcpServer::ErrorCode TcpServer::Bind() {
  ErrorCode error;
  const asio::ip::address address = asio::ip::make_address(options_.address, error);
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options_.port));
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && address.is_v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor_.set_option(tcp::no_delay(true), error);  // Accepted sockets inherit it.
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  return error;
}

void TcpServer::Start(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  Accept();
  thread_ = std::jthread([this] { Run(); });
}

void TcpServer::BeginStop(std::chrono::milliseconds grace) {
  asio::post(loop_, [this, grace] {
    if (std::exchange(stopping_, true)) return;
    grace_ = grace;
    work_.reset();
    ErrorCode ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    while (bounds_.CloseOldest()) continue;
  });
}

void TcpServer::Join() {
  if (thread_.joinable()) thread_.join();
}

// An exception ends only the connection that it concerns: no other object owns that connection.
void TcpServer::Run() {
  while (!stopping_) {
    try {
      if (!accepting_) Accept();
      loop_.run_one();
    } catch (const std::exception& error) {
      spdlog::error("{}: a connection failed: {}", options_.port_key, error.what());
      // Memory may be too short for a timer.
      if (!accepting_) std::this_thread::sleep_for(kPause);
    }
  }
  try {
    loop_.run_for(grace_);
  } catch (const std::exception& error) {
    spdlog::error("{}: the end of a connection failed: {}", options_.port_key, error.what());
  }
}

void TcpServer::Accept() {
  acceptor_.async_accept([this](const ErrorCode& error, Socket socket) {
    accepting_ = false;
    if (stopping_) return;
    if (error) return Recover(error);
    Accept();  // Before Admit(), which may throw.
    Admit(std::move(socket));
  });
  accepting_ = true;
}

void TcpServer::Admit(Socket socket) {
  ErrorCode gone;
  const tcp::endpoint peer = socket.remote_endpoint(gone);
  if (gone) return;
  // Child processes must not inherit a client's socket.
  static_cast<void>(fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC));
  const asio::ip::address address = AddressOf(peer);
  std::unique_ptr<ConnectionBounds::Lease> lease = bounds_.Admit(ClientKey(address));
  if (lease != nullptr) {
    return on_connection_(std::move(socket), address.to_string(), std::move(lease));
  }
  spdlog::warn("{}: a connection of {} was refused: there are {} already, and none only waits",
               options_.port_key, address.to_string(), bounds_.counts().open.load());
}

void TcpServer::Recover(const ErrorCode& error) {
  if (IsOfItsClient(error)) return Accept();
  spdlog::error("{}: a connection cannot be accepted: {}", options_.port_key, error.message());
  if (LacksDescriptors(error) && bounds_.CloseOldest()) return Accept();
  pause_.expires_after(kPause);
  pause_.async_wait([this](const ErrorCode& cancelled) {
    accepting_ = false;
    if (!cancelled && !stopping_) Accept();
  });
  accepting_ = true;
}

}  // namespace millrace::service
