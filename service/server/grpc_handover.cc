#include "service/server/grpc_handover.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <optional>
#include <utility>

namespace millrace::service {
namespace {

using boost::system::error_code;

constexpr std::chrono::milliseconds kLookEvery(500);
/// Minimum pause between two checks, per connection. One check takes half a microsecond, so clients
/// that are refused again and again do not use the whole thread.
constexpr std::chrono::microseconds kRest(4);

/// The inode of the socket that `descriptor` currently refers to.
std::optional<ino_t> InodeOf(int descriptor) {
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0 || !S_ISSOCK(facts.st_mode)) return std::nullopt;
  return facts.st_ino;
}

}  // namespace

/// A connection whose client has sent no byte yet. Owned by its pending operations.
struct GrpcHandover::Silent {
  Silent(TcpServer::Socket of_client, std::unique_ptr<ConnectionBounds::Lease> its_lease)
      : socket(std::move(of_client)), lease(std::move(its_lease)), limit(socket.get_executor()) {}

  void Close() {
    error_code ignored;
    socket.close(ignored);
    limit.cancel();
    lease.reset();
  }

  TcpServer::Socket socket;
  std::unique_ptr<ConnectionBounds::Lease> lease;
  boost::asio::steady_timer limit;
};

GrpcHandover::GrpcHandover(std::unique_ptr<TcpServer> tcp, std::unique_ptr<Grpc> grpc,
                           Options options)
    : options_(options), tcp_(std::move(tcp)), grpc_(std::move(grpc)), look_(tcp_->loop()) {
  tcp_->SetRelease([this] { ReleaseGone(); });
  LookEverySoOften();
  tcp_->Start([this](TcpServer::Socket socket, const std::string& /*client*/, auto lease) {
    Take(std::move(socket), std::move(lease));
  });
}

void GrpcHandover::Stop() {
  tcp_->BeginStop({});
  tcp_->Join();
}

void GrpcHandover::Take(TcpServer::Socket socket, std::unique_ptr<ConnectionBounds::Lease> lease) {
  auto silent = std::make_shared<Silent>(std::move(socket), std::move(lease));
  silent->lease->MayBeClosed([weak = std::weak_ptr<Silent>(silent)] {
    if (const auto connection = weak.lock()) connection->Close();
  });
  silent->limit.expires_after(options_.max_silence);
  silent->limit.async_wait([silent](const error_code& cancelled) {
    if (!cancelled) silent->Close();
  });
  silent->socket.async_wait(TcpServer::Socket::wait_read, [this, silent](const error_code& error) {
    error ? silent->Close() : OnHeard(*silent);
  });
}

void GrpcHandover::OnHeard(Silent& connection) {
  if (!connection.socket.is_open()) return;  // It was closed just now.
  char first = 0;
  const int descriptor = connection.socket.native_handle();
  const std::optional<ino_t> inode = InodeOf(descriptor);
  // The client has already closed it.
  if (recv(descriptor, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1 || !inode) {
    return connection.Close();
  }
  connection.limit.cancel();
  connection.lease->Keep();
  error_code error;
  connection.socket.native_non_blocking(true, error);
  const auto limit = static_cast<unsigned>(options_.max_unacknowledged.count());
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
  handed_.push_back({descriptor, *inode, std::move(connection.lease)});
  Grpc::NewConnectionParameters parameters;
  parameters.listener_fd = tcp_->descriptor();
  parameters.fd = connection.socket.release(error);
  grpc_->HandleNewConnection(&parameters);
}

void GrpcHandover::ReleaseGone() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kRest * handed_.size();
  std::erase_if(handed_,
                [](const Handed& handed) { return InodeOf(handed.descriptor) != handed.inode; });
}

void GrpcHandover::LookEverySoOften() {
  ReleaseGone();
  look_.expires_after(kLookEvery);
  look_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) LookEverySoOften();
  });
}

}  // namespace millrace::service
