// A thread that does work for others who may run at a lower priority than the work should.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/mutex.h"

namespace millrace {

/// Runs as the thread that makes it does: Linux hands niceness down, and lets few take it back.
/// Thread-safe. REQUIRES: nobody waits in Do() when it is destroyed.
class HelperThread {
 public:
  HelperThread() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  /// Returns once `work` is done, one after the other. Throws what it throws.
  void Do(std::function<void()> work) ABSL_LOCKS_EXCLUDED(turn_, mu_);

 private:
  using Task = std::packaged_task<void()>;

  void Run(const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(mu_);
  /// Nothing once `stop` says so.
  [[nodiscard]] std::optional<Task> Next(const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(mu_);

  Mutex turn_;  // Held by the caller whose turn it is.
  Mutex mu_;
  CondVar changed_;
  std::optional<Task> asked_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace millrace
