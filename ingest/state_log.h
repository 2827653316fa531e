// Says what a source comes to, each transition once: a line of the log and a count.
//
//   rtsp://camera/1: connecting
//   rtsp://camera/1: streaming
//   rtsp://camera/1: stalled: no frame for 1 s
//   rtsp://camera/1: backing off: no frame within 2 s; it is tried until it is there
//
// An outage shows each of its causes once, however many tries it takes: the lines of the other
// tries are for those who debug.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "ingest/source.h"

namespace millrace::ingest {

/// Thread-safe; transitions that threads tell at the same time are in any order.
class StateLog {
 public:
  enum class Of { kCamera, kFile };

  /// `shown` names the source in the log, without credentials. A file's states are for those who
  /// debug, unless it fails while it plays: opening it tells its user the rest.
  /// `told` is called with each transition after it is counted; may be empty.
  using Told = std::function<void(SourceState, const absl::Status& cause)>;
  StateLog(std::string shown, Of of, Told told = {});

  /// The source is in state `to` from now on, for `cause`, which is OK where there is none.
  void Enter(SourceState to, const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);

  /// How often it has come into each.
  [[nodiscard]] SourceStateCounts entered() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  enum class Level { kDebug, kInfo, kWarning, kError };
  [[nodiscard]] Level LevelOf(SourceState to, const std::string& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] Level LevelOfCamera(SourceState to, const std::string& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string shown_;
  const Of of_;
  const Told told_;

  mutable Mutex mu_;
  std::optional<SourceState> state_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> causes_ ABSL_GUARDED_BY(mu_);  // Of this outage, as far as they were said.
  SourceStateCounts entered_ ABSL_GUARDED_BY(mu_) = {};
};

}  // namespace millrace::ingest
