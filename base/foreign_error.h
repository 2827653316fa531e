// The message of a LibTorch exception, without its stack trace.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace millrace {

/// The line of `message` that names the error. TorchScript puts it after a traceback.
[[nodiscard]] inline std::string CauseLine(std::string_view message) {
  constexpr std::string_view kCause = "RuntimeError: ";
  if (const auto cause = message.rfind(kCause); cause != std::string_view::npos) {
    message.remove_prefix(cause + kCause.size());
  }
  return std::string(message.substr(0, message.find('\n')));
}

/// For ExceptionToStatus(): what becomes of an exception of LibTorch.
[[nodiscard]] inline absl::Status InternalCause(std::string_view message) {
  return absl::InternalError(CauseLine(message));
}
[[nodiscard]] inline absl::Status InvalidCause(std::string_view message) {
  return absl::InvalidArgumentError(CauseLine(message));
}

}  // namespace millrace
