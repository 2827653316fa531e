// A source's state, with a log line and a count for each transition.
//
//   stream 'door': rtsp://camera/1: connecting
//   stream 'door': rtsp://camera/1: streaming
//   stream 'door': rtsp://camera/1: stalled: no frame for 1 s
//   stream 'door': rtsp://camera/1: backing off: no frame within 2 s; it is tried until it is there
//
// An outage logs each of its causes once, however many retries it takes. It is over when frames
// have come for some seconds; only then `streaming` is logged again. At most eight causes of one
// outage are logged, because a cause may contain a number that changes each time. Further lines of
// an outage have the level debug.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

/// The state of a source. Thread-safe. Only Log() calls another component. So the owner may call
/// the other functions under its lock, and change the state together with its own data.
class StateLog {
 public:
  /// kPushed: logs when a client begins to push and when it ends.
  enum class Kind { kCamera, kFile, kPushed };

  /// `shown` names the source in the log, without credentials. A file's states have the level
  /// debug, except a failure during play: OpenSource() reports other failures to its caller.
  /// `on_state` is called with each transition, in order, on the thread in Log(); may be empty.
  /// `stream` is the camera stream at the start of the lines; may be empty.
  using OnState = std::function<void(SourceState, const absl::Status& cause)>;
  StateLog(const std::string& shown, Kind kind, OnState on_state = {}, std::string stream = {});

  /// Enters state `to`, for `cause`; OK: no cause.
  void Enter(SourceState to, const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);
  /// Ends a camera's outage, because frames have come for long enough. Idempotent.
  void Hold() ABSL_LOCKS_EXCLUDED(mu_);
  /// Adds a warning that belongs to no state: `what`, after the source's name.
  void Warn(const std::string& what) ABSL_LOCKS_EXCLUDED(mu_);
  /// Writes the pending lines to the log and calls `on_state`, in order, whichever threads call it.
  void Log() ABSL_LOCKS_EXCLUDED(mu_, log_mu_);
  /// Whether Log() would write a line.
  [[nodiscard]] bool has_pending() const ABSL_LOCKS_EXCLUDED(mu_);

  /// The current state; kConnecting before the first one.
  [[nodiscard]] SourceState state() const ABSL_LOCKS_EXCLUDED(mu_);
  /// The number of times that each state was entered.
  [[nodiscard]] SourceStateCounts entered() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  enum class Level { kDebug, kInfo, kWarning, kError };
  struct Line {
    Level level;
    std::string text;
    std::optional<SourceState> entered = {};
    absl::Status cause = {};
  };
  [[nodiscard]] Level LevelOf(SourceState to, const std::string& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] Level LevelOfPushed(SourceState to) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] Level LevelOfCamera(SourceState to, const std::string& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string shown_;
  const Kind kind_;
  const OnState on_state_;
  const std::string stream_;

  Mutex log_mu_;  ///< Held while writing. It is taken before mu_, never while mu_ is held.
  mutable Mutex mu_;
  std::vector<Line> pending_ ABSL_GUARDED_BY(mu_);
  std::optional<SourceState> state_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> causes_ ABSL_GUARDED_BY(mu_);  ///< The logged causes of this outage.
  SourceStateCounts entered_ ABSL_GUARDED_BY(mu_) = {};
};

}  // namespace millrace::ingest
