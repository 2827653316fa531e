// What the program's exit code says. Documented in `millrace --help`.
#pragma once

#include "absl/status/status.h"

namespace millrace::service {

inline constexpr int kExitOk = 0;
/// Something failed while it ran.
inline constexpr int kExitFailure = 1;
/// The command line or the configuration is wrong. Not where it asks for more than its budget, as
/// layers are measured at each start, and the next may find the machine idle.
inline constexpr int kExitUsage = 2;
/// A GPU failed, or its memory is full (pipeline/device/device_failure.h).
inline constexpr int kExitGpu = 3;
// 128 + the signal that ended it at once: StopSignals (serve_signals.h).

/// Of a command whose work ended so.
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
