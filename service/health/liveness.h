// Whether the process is to be started again: what liveness probes and systemd's watchdog are told.
//
// The rule. The process is alive unless one of its ports takes no connections (SelfDial), it can
// start no more cameras' processes, or, for one of its streams,
//
//   the GPU failed    its learner failed with what the program's exit code 3 stands for: no process
//                     that has met it recovers;
//   or it hangs       at each look for kPatience it had frames in flight, its camera was not away,
//                     and the learner had made as much of frames as before: the number of those
//                     predicted and dropped was the same, but for queue_full.
//
// The queue drops frames by itself, so that a live camera's do not stop when its learner does.
// While a camera is away a plan may hold a frame until the next one comes. A stream that has
// nothing to do is alive. A model that failed for another reason would fail again, and is the
// business of readiness.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// Judges by looking: ask it more often than every kPatience. Thread-safe; all who tell of the
/// process ask the same one.
class Liveness {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  struct Verdict {
    bool alive = true;
    /// "ok", or a line for each reason why it is not.
    std::string text;
  };

  /// `process_fault` says why this process must be started again, a line for each reason; empty:
  /// there is none. `streams` and `clock` must outlive it.
  explicit Liveness(
      const Streams& streams, const Clock& clock = MonotonicClock(),
      std::function<std::string()> process_fault = [] { return std::string(); });

  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// What `why`, a line for each, says of ports that take no connections; empty: all do.
  void SetUnreachable(std::string why) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::string unreachable() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Looks at every stream, and does not return while the locks of one hang.
  [[nodiscard]] Verdict Judge() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// Of how many frames a stream's learner had made something, and since when it has of no more.
  struct Progress {
    std::uint64_t ended = 0;
    std::chrono::nanoseconds since{0};
  };
  /// `before`: at the last look; null: there was none.
  [[nodiscard]] static Progress After(const Progress* before, const StreamSnapshot& stream,
                                      std::chrono::nanoseconds now);

  // Constant after construction.
  const Streams& streams_;
  const Clock& clock_;
  const std::function<std::string()> process_fault_;

  mutable Mutex mu_;
  std::string unreachable_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Progress> seen_ ABSL_GUARDED_BY(mu_);  // Of each life, by its run_id.
};

}  // namespace millrace::service
