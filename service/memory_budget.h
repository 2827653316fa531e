// What streams hold of this machine's memory together, and whether one more fits.
//
// A stream holds what its learner is reckoned to need (pipeline/memory_need.h), from before it is
// made until it is destroyed: two that start at once cannot both take what is left, and one that
// was stopped still has its memory as long as somebody keeps it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace millrace::service {

/// Held as long as somebody keeps it.
struct MemoryShare {
  std::string stream;
  double bytes = 0;
};
using HeldMemory = std::shared_ptr<const MemoryShare>;

/// Where the system says how much there is.
struct MemoryFiles {
  std::string groups_of_this_process = "/proc/self/cgroup";
  std::string groups = "/sys/fs/cgroup";
  /// Of the machine, in bytes; 0: as the system says.
  double machine_bytes = 0;
};

/// The bytes that this process may use: the machine's or, if that is less, what its control groups
/// (version 2) allow it, less a tenth, at least half a gigabyte, for all that is no learner.
[[nodiscard]] double UsableMemoryBytes(const MemoryFiles& files = {});

/// Thread-safe.
class MemoryBudget {
 public:
  /// Holds `share`, if of `budget_bytes` so much is left beside what is held. Fails with
  /// RESOURCE_EXHAUSTED (DEVICE_BUDGET_EXCEEDED), with the figures and what to lower.
  [[nodiscard]] absl::StatusOr<HeldMemory> Take(const MemoryShare& share, double budget_bytes)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The same, whatever is left.
  [[nodiscard]] HeldMemory TakeAnyway(const MemoryShare& share) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] std::vector<HeldMemory> Held() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  HeldMemory Hold(const MemoryShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  std::vector<std::weak_ptr<const MemoryShare>> shares_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
