// The addresses of ranks.
#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace millrace::pipeline {

/// A socket that is bound and does not listen yet.
struct BoundSocket {
  Descriptor descriptor;
  int port = 0;
};

/// Binds to one address of this host. `port` 0: any free one. Fails with INVALID_ARGUMENT if `host`
/// is no address of this host, or all of them, and with ALREADY_EXISTS if the port is taken.
[[nodiscard]] absl::StatusOr<BoundSocket> BindTo(const std::string& host, int port);

/// The address of this host from which it reaches another one. Connects to find out. Fails with
/// NOT_FOUND if no host of this name is known, nothing listens there, or nothing answers within
/// `limit`.
[[nodiscard]] absl::StatusOr<std::string> OwnAddressTowards(const std::string& host, int port,
                                                            std::chrono::milliseconds limit);

}  // namespace millrace::pipeline
