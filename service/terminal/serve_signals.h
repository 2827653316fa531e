// Turns SIGTERM, SIGINT and SIGHUP into ordinary calls on an ordinary thread.
//
// A signal handler may do next to nothing. So the signals are blocked, in every thread, and one
// thread waits for them: the first of SIGTERM and SIGINT asks the program to end in good order, the
// second ends it at once, and so does the limit for the good order, if there is one, whatever
// hangs; SIGHUP asks it to read its configuration again.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

namespace millrace::service {

/// Owns SIGTERM and SIGINT from construction on, and SIGHUP where that is wanted: a program without
/// a configuration ends with its terminal. Make it in main(), before any other thread starts:
/// threads inherit what is blocked. One at a time.
class StopSignals {
 public:
  enum class HangUp { kEnds, kAsksToReload };

  /// `limit`: for the good order. 0: none.
  explicit StopSignals(HangUp hang_up = HangUp::kEnds,
                       std::chrono::milliseconds limit = std::chrono::milliseconds(0));
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// Stops waiting; the signals stay blocked.
  ~StopSignals();

  /// Calls `on_stop` on a thread of its own at the first signal, also at one that came already; at
  /// the second the process exits with 128 + its number, as it does where it goes on for longer
  /// than the limit. REQUIRES: called once at most.
  /// `on_reload` is called at each SIGHUP, on the same thread: it must be quick.
  void Watch(std::function<void()> on_stop, std::function<void()> on_reload = {});

  /// Waits no longer: once it has returned, what Watch() was given is not called any more.
  /// Idempotent.
  void Forget();

 private:
  struct Calls {
    std::function<void()> stop;
    std::function<void()> reload;
  };

  void Wait(const Calls& calls);

  // Constant after construction.
  const std::chrono::milliseconds limit_;
  // Owned file descriptors.
  int signals_ = -1;
  int end_ = -1;

  std::jthread waiter_;
};

}  // namespace millrace::service
