// How many files, sockets among them, this process may have open at a time, and who gets how many.
//
// A process that has no descriptor left can accept nobody, write no checkpoint and open no camera.
// So what clients may have is bounded below that.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "service/connection_bounds.h"

namespace millrace::service {

/// What each port's clients may have. A quarter at least is left to cameras, files and libraries.
struct OpenFileShares {
  ConnectionLimits grpc;
  ConnectionLimits page;
  ConnectionLimits probes;
  /// How many it is then good for.
  std::size_t cameras = 0;
};

[[nodiscard]] OpenFileShares ShareOpenFiles(std::size_t limit);

/// The limit (RLIMIT_NOFILE) that is in force.
[[nodiscard]] std::size_t MostOpenFiles();

/// Raises it as far as this process may, to a million at most, for it and what it starts, and says
/// in the log what it is good for where that is little. Fails with RESOURCE_EXHAUSTED where so many
/// `streams` cannot be served. Before other threads open files.
[[nodiscard]] absl::Status RaiseOpenFiles(std::size_t streams);

}  // namespace millrace::service
