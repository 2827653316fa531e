// What the handler of a call throws ends that call, and not the server.
#pragma once

#include <exception>
#include <string_view>

#include "absl/status/status.h"

namespace millrace::service {

/// INTERNAL, saying `what` was thrown; the log has a line of it, too.
[[nodiscard]] absl::Status Thrown(std::string_view what);

/// What `serve` returns, a Status or a StatusOr, and Thrown() where it throws.
template <typename Serve>
auto Caught(const Serve& serve) -> decltype(serve()) {
  try {
    return serve();
  } catch (const std::exception& error) {
    return Thrown(error.what());
  } catch (...) {
    return Thrown("it threw something that is no std::exception");
  }
}

}  // namespace millrace::service
