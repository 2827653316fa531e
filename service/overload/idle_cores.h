// How many cores this process could take in addition to those that it uses.
#pragma once

namespace millrace::service {

/// CPU time since some moment, in seconds, summed over cores.
struct CpuTimes {
  /// In which a core of the machine stood idle; 0 where that is not known.
  double idle_s = 0;
  /// That this process used.
  double used_s = 0;
};

[[nodiscard]] CpuTimes ReadCpuTimes();

/// Cores that stood idle in the `seconds` between two readings and that the process may use:
/// `usable` is how many it may use in all, which a container may bound.
[[nodiscard]] double IdleCores(const CpuTimes& before, const CpuTimes& after, double seconds,
                               double usable);

}  // namespace millrace::service
