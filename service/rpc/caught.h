// What is thrown while somebody is served ends what was asked for, and not the server.
#pragma once

#include <exception>
#include <string_view>

#include "absl/status/status.h"

namespace millrace::service {

/// INTERNAL, saying `what` was thrown; the log has a line of it, too, which says `where`.
[[nodiscard]] absl::Status Thrown(std::string_view where, std::string_view what);

/// What `serve` returns, a Status or a StatusOr, and Thrown() where it throws.
template <typename Serve>
auto Caught(const Serve& serve, std::string_view where = "a call over gRPC") -> decltype(serve()) {
  try {
    return serve();
  } catch (const std::exception& error) {
    return Thrown(where, error.what());
  } catch (...) {
    return Thrown(where, "it threw something that is no std::exception");
  }
}

}  // namespace millrace::service
