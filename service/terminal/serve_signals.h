// Turns SIGTERM, SIGINT and SIGHUP into calls on an ordinary thread.
//
// A signal handler may call almost no function. So all threads block these signals, and one thread
// waits for them. The first SIGTERM or SIGINT asks the program to end gracefully. The second ends
// it at once, as does the limit of the graceful end, if set, even if the program hangs. SIGHUP asks
// the program to reload its configuration.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

namespace millrace::service {

/// Blocks SIGTERM and SIGINT from construction on, and SIGHUP if wanted: a program without a
/// configuration ends with its terminal. Construct it in main(), before any other thread starts,
/// because threads inherit the blocked signals. One instance at a time.
class StopSignals {
 public:
  enum class HangUp { kEnds, kAsksToReload };

  /// `limit`: time limit of the graceful end. 0: no limit.
  explicit StopSignals(HangUp hang_up = HangUp::kEnds,
                       std::chrono::milliseconds limit = std::chrono::milliseconds(0));
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// Stops waiting for signals; they stay blocked.
  ~StopSignals();

  /// Calls `on_stop` on an own thread at the first SIGTERM or SIGINT, including one that came
  /// before this call. At the second, or after the limit, the process exits with 128 + the signal's
  /// number. Calls `on_reload` at each SIGHUP, on the same thread: it must be quick. REQUIRES:
  /// called at most once.
  void Watch(std::function<void()> on_stop, std::function<void()> on_reload = {});

  /// Stops waiting. After it returns, Watch()'s callbacks are no longer called. Idempotent.
  void Forget();

 private:
  struct Calls {
    std::function<void()> stop;
    std::function<void()> reload;
  };

  void Wait(const Calls& calls);
  /// Waits for a signal, at most until `until`. 0 if no signal came, nullopt after Forget().
  [[nodiscard]] std::optional<int> NextSignal(std::chrono::steady_clock::time_point until) const;

  // Constant after construction.
  const std::chrono::milliseconds limit_;
  // Owned file descriptors.
  int signals_ = -1;
  int end_ = -1;

  std::jthread waiter_;
};

}  // namespace millrace::service
