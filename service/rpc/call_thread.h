// Threads for calls that take long: gRPC's own threads must not wait.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace millrace::service {

/// Runs what it is given, in its order, as many at a time as it has threads. Thread-safe.
/// Destroying it runs what is left first.
class CallThread {
 public:
  struct Options {
    std::size_t most_waiting = 64;
    /// All but the first begin when all others work and the system has a thread left. They stay.
    std::size_t most_threads = 1;
    /// As nice(1) has it, up to 19: with more it works when nothing else has to. 0: as who makes
    /// its threads.
    int niceness = 0;
    /// What a call ends with that too many wait before.
    absl::Status full;
  };

  explicit CallThread(Options options);
  ~CallThread();

  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;

  /// Fails with Options::full, having done nothing, if too many are waiting. `owner` names the
  /// work.
  [[nodiscard]] absl::Status Post(const void* owner, std::function<void()> work)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Takes the owner's work back. Whether it was waiting still: then it will not be done.
  [[nodiscard]] bool TakeBack(const void* owner) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Waiting {
    const void* owner = nullptr;
    std::function<void()> work;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  /// What is to be done next; empty once there is nothing more.
  [[nodiscard]] std::function<void()> Next() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Options options_;

  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  std::size_t working_ ABSL_GUARDED_BY(mu_) = 0;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::vector<std::jthread> threads_;  // Made with mu_ held.
};

}  // namespace millrace::service
