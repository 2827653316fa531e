// Divides the process's limit of open files, sockets included, among its ports and streams.
//
// A process without a free descriptor cannot accept a client, write a checkpoint or open a camera.
// So client connections are bounded below the limit.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "service/net/connection_bounds.h"

namespace millrace::service {

/// The connection limits of each port, and the number of streams.
struct OpenFileShares {
  ConnectionLimits grpc;
  ConnectionLimits page;
  ConnectionLimits probes;
  /// Streams that the remaining descriptors suffice for, clients' streams included.
  std::size_t streams = 0;
};

/// The shares of a server that starts with `streams` streams. The streams come first: at least a
/// quarter of `limit` stays for cameras, files and libraries.
[[nodiscard]] OpenFileShares ShareOpenFiles(std::size_t limit, std::size_t streams);

/// The current limit (RLIMIT_NOFILE).
[[nodiscard]] std::size_t MaxOpenFiles();

/// Raises the limit as far as this process may, to a million at most, for itself and its child
/// processes. Logs what a low limit suffices for. Fails with RESOURCE_EXHAUSTED if the limit is too
/// low for `streams` streams. Call it before other threads open files.
[[nodiscard]] absl::Status RaiseOpenFiles(std::size_t streams);

}  // namespace millrace::service
