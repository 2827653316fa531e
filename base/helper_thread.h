// A thread that works at normal priority for callers of low priority.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/mutex.h"

namespace millrace {

/// Its thread has the priority of the thread that constructs it. Linux passes niceness on to new
/// threads, and few processes may raise their priority again. Thread-safe. REQUIRES: no thread
/// waits in Do() during destruction.
class HelperThread {
 public:
  HelperThread() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  /// Runs `work` on the helper thread and returns when it is done. Calls run one at a time. An
  /// exception from `work` is thrown here.
  void Do(std::function<void()> work) ABSL_LOCKS_EXCLUDED(turn_, mu_);

 private:
  using Task = std::packaged_task<void()>;

  void Run(const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(mu_);
  /// Returns nullopt after `stop` is requested.
  [[nodiscard]] std::optional<Task> Next(const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(mu_);

  Mutex turn_;  // Held by the caller whose work runs.
  Mutex mu_;
  CondVar changed_;
  std::optional<Task> asked_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace millrace
