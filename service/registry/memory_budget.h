// Shares of this machine's memory that streams hold, and whether one more fits.
//
// A stream holds the estimated need of its learner (pipeline/preflight/memory_need.h) from before
// it is made until it is destroyed. So two streams that start at the same time cannot both take
// what is left, and a stopped stream counts as long as somebody keeps it: its memory is still in
// use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace millrace::service {

/// Counts until its last HeldMemory is gone.
struct MemoryShare {
  std::string stream;
  double bytes = 0;
};
using HeldMemory = std::shared_ptr<const MemoryShare>;

/// The files that say how much memory there is.
struct MemoryFiles {
  std::string groups_of_this_process = "/proc/self/cgroup";
  std::string groups = "/sys/fs/cgroup";
  /// Of the machine, in bytes; 0: as the system says.
  double machine_bytes = 0;
};

/// The bytes for learners: of the machine's memory or, if that is less, of the limit of this
/// process's control groups (version 2), all but a tenth, which is half a gigabyte at least.
[[nodiscard]] double UsableMemoryBytes(const MemoryFiles& files = {});

/// The shares that are held. Thread-safe.
class MemoryBudget {
 public:
  /// Holds `share` if it fits into `budget_bytes` beside the shares that are held. Fails with
  /// RESOURCE_EXHAUSTED (DEVICE_BUDGET_EXCEEDED), with the figures and what to lower.
  [[nodiscard]] absl::StatusOr<HeldMemory> Take(const MemoryShare& share, double budget_bytes)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Holds `share`, even where it does not fit.
  [[nodiscard]] HeldMemory TakeAnyway(const MemoryShare& share) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] std::vector<HeldMemory> Held() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  HeldMemory Hold(const MemoryShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  std::vector<std::weak_ptr<const MemoryShare>> shares_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
