// Turns an exception thrown while serving a request into a Status: the request fails, the server
// goes on.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "base/exception_to_status.h"

namespace millrace::service {

/// Logs the exception text `what` with its place `where`, and returns it as INTERNAL.
[[nodiscard]] absl::Status Thrown(std::string_view where, std::string_view what);

/// The result of `serve`, a Status or a StatusOr. An exception becomes Thrown().
template <typename Serve>
auto Caught(const Serve& serve, std::string_view where = "a call over gRPC") -> decltype(serve()) {
  return ExceptionToStatus(serve, [where](std::string_view what) { return Thrown(where, what); });
}

}  // namespace millrace::service
