// Turns an exception thrown while serving a request into a Status: the request fails, the server
// goes on.
#pragma once

#include <exception>
#include <string_view>

#include "absl/status/status.h"

namespace millrace::service {

/// Logs the exception text `what` with its place `where`, and returns it as INTERNAL.
[[nodiscard]] absl::Status Thrown(std::string_view where, std::string_view what);

/// The result of `serve`, a Status or a StatusOr. An exception becomes Thrown().
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
