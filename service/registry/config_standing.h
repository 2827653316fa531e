// Whether the running streams match the configuration file. Metrics and the page show it.
#pragma once

#include <chrono>

namespace millrace::service {

/// The result of the last read of the file. The start of the server counts as a successful read.
struct ConfigStanding {
  /// The file was valid, and every stream matches it.
  bool holds = true;
  /// The last time when that was true, since 1970.
  std::chrono::nanoseconds held_at{0};
};

}  // namespace millrace::service
