#include "pipeline/ranks/rank_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::StatusOr<Addresses> Resolve(const std::string& host, int port, int flags) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failed == 0) return Addresses(found, &::freeaddrinfo);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no host ", host, ": ", ::gai_strerror(failed)));
}

std::string Reason(int error) { return std::generic_category().message(error); }

bool IsAnyAddress(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_ANY);
  }
  const auto& of_v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&of_v6.sin6_addr) != 0;
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    constexpr std::uint32_t kNetwork = 127;
    const auto& of_v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(of_v4.sin_addr.s_addr) >> 24 == kNetwork;
  }
  const auto& of_v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&of_v6.sin6_addr) != 0;
}

// Neither an address nor "localhost".
bool IsNameOfHost(const std::string& host) {
  in6_addr parsed{};
  return host != "localhost" && ::inet_pton(AF_INET, host.c_str(), &parsed) != 1 &&
         ::inet_pton(AF_INET6, host.c_str(), &parsed) != 1;
}

// The own end of `socket`.
sockaddr_storage OwnEnd(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

int PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// 0, or the error.
int ConnectWithin(int socket, const addrinfo& to, std::chrono::milliseconds limit) {
  if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(limit.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

absl::StatusOr<BoundSocket> BindTo(const std::string& host, int port) {
  MILLRACE_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port, AI_PASSIVE));
  int error = 0;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (IsAnyAddress(*one->ai_addr)) {
      return absl::InvalidArgumentError(absl::StrCat(
          host, " is every address of this host: name the one at which the other ranks reach it"));
    }
    if (IsLoopback(*one->ai_addr) && IsNameOfHost(host)) {
      return absl::InvalidArgumentError(
          absl::StrCat(host,
                       " is a loopback address on this host (see /etc/hosts), which no other "
                       "host can reach: write the address that they reach"));
    }
    Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ::setsockopt(socket.value(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (socket.value() >= 0 && ::bind(socket.value(), one->ai_addr, one->ai_addrlen) == 0) {
      const int bound = PortOf(OwnEnd(socket.value()));
      return BoundSocket{.descriptor = std::move(socket), .port = bound};
    }
    error = errno;
  }
  const std::string text = absl::StrCat("cannot listen on ", host, ":", port, ": ");
  if (error == EADDRINUSE) {
    return absl::AlreadyExistsError(
        absl::StrCat(text, "another program uses this port; choose another one, or 0 for any"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      text, error == EADDRNOTAVAIL ? "this host does not have that address" : Reason(error)));
}

absl::StatusOr<std::string> OwnAddressTowards(const std::string& host, int port,
                                              std::chrono::milliseconds limit) {
  const absl::StatusOr<Addresses> addresses = Resolve(host, port, 0);
  // A name server may know the name later.
  if (!addresses.ok()) return absl::UnavailableError(addresses.status().message());
  int error = 0;
  for (const addrinfo* one = addresses->get(); one != nullptr; one = one->ai_next) {
    const Descriptor socket(
        ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = ConnectWithin(socket.value(), *one, limit);
    if (error != 0) continue;
    const sockaddr_storage own = OwnEnd(socket.value());
    std::array<char, NI_MAXHOST> text{};
    ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), sizeof(own), text.data(), text.size(),
                  nullptr, 0, NI_NUMERICHOST);
    return std::string(text.data());
  }
  return absl::NotFoundError(
      absl::StrCat("no leader answers at ", host, ":", port, ": ", Reason(error)));
}

}  // namespace millrace::pipeline
