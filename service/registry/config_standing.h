// Whether the streams are what the configuration file says, for whoever watches the server.
#pragma once

#include <chrono>

namespace millrace::service {

/// What came of reading the file last. The start counts: without a right file there is none.
struct ConfigStanding {
  /// It was right, and every stream became what it says.
  bool holds = true;
  /// When that was so last, since 1970.
  std::chrono::nanoseconds held_at{0};
};

}  // namespace millrace::service
