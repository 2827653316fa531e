// Whether the process needs a restart: the answer for liveness probes and systemd's watchdog.
//
// The process is not alive if one of its ports accepts no connections (SelfDial), or if it can
// start no more camera processes. It is also not alive if a stream meets one of these conditions:
//
//   the GPU failed    the learner failed with the error that exit code 3 stands for. No process
//                     recovers from it.
//   or it hangs       at each check for kPatience it had frames in flight, its camera was not away,
//                     and the number of predicted and dropped frames (without queue_full) was the
//                     same.
//
// Drops of the queue (queue_full) do not count, because a live camera's queue drops frames even if
// its learner hangs. While a camera is away, a plan may hold a frame until the next one arrives. An
// idle stream is alive. A model that failed for another reason would fail again after a restart;
// readiness reports it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// Compares successive checks: call Judge() more often than every kPatience. Thread-safe. All
/// health reports of the process must share one instance.
class Liveness {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  struct Verdict {
    bool alive = true;
    /// "ok", or one line for each reason why it is not alive.
    std::string text;
  };

  /// `process_fault` returns the reasons why this process must restart, one per line; empty: no
  /// reason. `streams` and `clock` must outlive it.
  explicit Liveness(
      const StreamRegistry& streams, const Clock& clock = MonotonicClock(),
      std::function<std::string()> process_fault = [] { return std::string(); });

  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// Sets the reasons, one per line, why ports accept no connections. Empty: all ports work.
  void SetUnreachable(std::string why) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::string unreachable() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Checks every stream. Blocks while a stream's locks hang.
  [[nodiscard]] Verdict Judge() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// The number of frames that a stream's learner has finished, and the time since when it has not
  /// changed.
  struct Progress {
    std::uint64_t ended = 0;
    std::chrono::nanoseconds since{0};
  };
  /// `before`: the result of the last check; null: there was no check.
  [[nodiscard]] static Progress After(const Progress* before, const StreamSnapshot& stream,
                                      std::chrono::nanoseconds now);

  // Constant after construction.
  const StreamRegistry& streams_;
  const Clock& clock_;
  const std::function<std::string()> process_fault_;

  mutable Mutex mu_;
  std::string unreachable_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Progress> seen_ ABSL_GUARDED_BY(mu_);  // By the run_id of each incarnation.
};

}  // namespace millrace::service
