// The number of cores that this process could use in addition to those in use.
#pragma once

namespace millrace::service {

/// CPU time since an arbitrary start, in seconds, summed over cores.
struct CpuTimes {
  /// Idle time of all cores of the machine; 0 if it is unknown.
  double idle_s = 0;
  /// Time used by this process.
  double used_s = 0;
};

[[nodiscard]] CpuTimes ReadCpuTimes();

/// Cores that were idle in the `seconds` between two readings and that the process may use.
/// `usable` is the number of cores that the process may use in total, which a container may limit.
[[nodiscard]] double IdleCores(const CpuTimes& before, const CpuTimes& after, double seconds,
                               double usable);

}  // namespace millrace::service
