// What the program's exit code says. Documented in `millrace --help`.
#pragma once

namespace millrace::service {

inline constexpr int kExitOk = 0;
/// Something failed while it ran.
inline constexpr int kExitFailure = 1;
/// The command line or the configuration is wrong.
inline constexpr int kExitUsage = 2;
/// A GPU failed, or its memory is full.
inline constexpr int kExitGpu = 3;

}  // namespace millrace::service
