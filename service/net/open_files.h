// Shares out the files, sockets among them, that this process may have open at a time.
//
// A process that has no descriptor left can accept no client, write no checkpoint and open no
// camera. So the connections of clients are bounded below that.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "service/net/connection_bounds.h"

namespace millrace::service {

/// The bounds of each port's connections, and of streams.
struct OpenFileShares {
  ConnectionLimits grpc;
  ConnectionLimits page;
  ConnectionLimits probes;
  /// Streams that the rest suffices for, clients' own among them.
  std::size_t streams = 0;
};

/// The shares of a server that starts with so many `streams`: they come first. A quarter of `limit`
/// at least is left to cameras, files and libraries.
[[nodiscard]] OpenFileShares ShareOpenFiles(std::size_t limit, std::size_t streams);

/// The limit (RLIMIT_NOFILE) that is in force.
[[nodiscard]] std::size_t MostOpenFiles();

/// Raises it as far as this process may, to a million at most, for it and what it starts, and says
/// in the log what it is good for where that is little. Fails with RESOURCE_EXHAUSTED where so many
/// `streams` cannot be served. Before other threads open files.
[[nodiscard]] absl::Status RaiseOpenFiles(std::size_t streams);

}  // namespace millrace::service
