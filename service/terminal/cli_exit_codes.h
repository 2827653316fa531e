// The program's exit codes. `millrace --help` documents them.
#pragma once

#include "absl/status/status.h"

namespace millrace::service {

inline constexpr int kExitOk = 0;
/// The program failed while it ran.
inline constexpr int kExitFailure = 1;
/// The command line or the configuration is wrong. Not used for an exceeded budget: layers are
/// measured at each start, and the next start may find the machine idle.
inline constexpr int kExitUsage = 2;
/// A GPU failed, or its memory is full (pipeline/device/device_failure.h).
inline constexpr int kExitGpu = 3;
// 128 + the number of a signal that ended the program at once: StopSignals (serve_signals.h).

/// The exit code of a command that ended with `status`.
[[nodiscard]] inline int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return kExitUsage;
    case absl::StatusCode::kAborted:
      return kExitGpu;
    default:
      return kExitFailure;
  }
}

}  // namespace millrace::service
