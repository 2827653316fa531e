// The result of work on other threads: set once, and waited for.
#pragma once

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace millrace::ingest {

/// A status that is set later. Thread-safe. Must outlive the threads that set it and wait for it.
class Outcome {
 public:
  /// Sets the outcome, unless it is set already.
  void Set(absl::Status status) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      if (!status_) status_ = std::move(status);
    }
    is_set_.notify_all();
  }

  /// Waits until the status is set.
  [[nodiscard]] absl::Status Wait() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    while (!status_) is_set_.wait(mu_);
    return *status_;
  }

 private:
  Mutex mu_;
  CondVar is_set_;
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::ingest
