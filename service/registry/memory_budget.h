// Reserves shares of this machine's memory for streams.
//
// A stream holds the estimated need of its learner (pipeline/preflight/memory_need.h) from before
// its creation until its destruction. So two streams that start together cannot both take the same
// memory. A stopped stream counts until its last owner releases it, because its memory is still in
// use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace millrace::service {

/// A reserved share. It counts until its last HeldMemory is destroyed.
struct MemoryShare {
  std::string stream;
  double bytes = 0;
};
using HeldMemory = std::shared_ptr<const MemoryShare>;

/// The files that tell how much memory this process may use.
struct MemoryFiles {
  std::string groups_of_this_process = "/proc/self/cgroup";
  std::string groups = "/sys/fs/cgroup";
  /// The machine's memory in bytes; 0: ask the system.
  double machine_bytes = 0;
};

/// The bytes for learners. The base is the machine's memory or, if smaller, the limit of this
/// process's control groups (version 2). A tenth of it, at least half a gigabyte, stays free.
[[nodiscard]] double UsableMemoryBytes(const MemoryFiles& files = {});

/// The reserved shares. Thread-safe.
class MemoryBudget {
 public:
  /// Reserves `share` if it fits into `budget_bytes` beside the other shares. Otherwise
  /// RESOURCE_EXHAUSTED (DEVICE_BUDGET_EXCEEDED), with the figures and what to lower.
  [[nodiscard]] absl::StatusOr<HeldMemory> Take(const MemoryShare& share, double budget_bytes)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Reserves `share` even if it does not fit.
  [[nodiscard]] HeldMemory TakeAnyway(const MemoryShare& share) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] std::vector<HeldMemory> Held() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  HeldMemory Hold(const MemoryShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  std::vector<std::weak_ptr<const MemoryShare>> shares_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
