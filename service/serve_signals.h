// Turns SIGTERM and SIGINT into an ordinary call on an ordinary thread.
//
// A signal handler may do next to nothing. So the signals are blocked, in every thread, and one
// thread waits for them: the first asks the program to end in good order, the second ends it at
// once.
#pragma once

#include <functional>
#include <stop_token>
#include <thread>

namespace millrace::service {

/// Owns SIGTERM and SIGINT from construction on. Make it in main(), before any other thread starts:
/// threads inherit what is blocked. One at a time.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// Stops waiting; the signals stay blocked.
  ~StopSignals();

  /// Calls `on_stop` on a thread of its own at the first signal, also at one that came already; at
  /// the second the process exits with 128 + its number. REQUIRES: called once at most.
  void Watch(std::function<void()> on_stop);

  /// Waits no longer: once it has returned, what Watch() was given is not called any more.
  /// Idempotent.
  void Forget();

 private:
  void Wait(const std::function<void()>& on_stop);

  // Constant after construction. Owned file descriptors.
  int signals_ = -1;
  int end_ = -1;

  std::jthread waiter_;
};

}  // namespace millrace::service
