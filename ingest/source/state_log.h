// What a source comes to: its state, a line of the log and a count for each transition.
//
//   stream 'door': rtsp://camera/1: connecting
//   stream 'door': rtsp://camera/1: streaming
//   stream 'door': rtsp://camera/1: stalled: no frame for 1 s
//   stream 'door': rtsp://camera/1: backing off: no frame within 2 s; it is tried until it is there
//
// An outage shows each of its causes once, however many tries it takes, and however often a camera
// comes and goes: it is over when frames have come for some seconds, and only then `streaming` is
// said again. Of the causes of one outage the first eight are said: more would be one that carries
// a number, and no end of it. What is not said is there for those who debug.
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

/// The truth about a source's state. Thread-safe, and a leaf: all but Say() may be called with a
/// lock held, so that the state changes along with what its owner guards.
class StateLog {
 public:
  /// kPushed: said is when a client comes, and when it goes.
  enum class Of { kCamera, kFile, kPushed };

  /// `shown` names the source in the log, without credentials. A file's states are for those who
  /// debug, unless it fails while it plays: opening it tells its user the rest.
  /// `told` is called with each transition, in their order, by who writes them; may be empty.
  /// `stream`: which camera stream the lines are about, and begin with; may be empty.
  using Told = std::function<void(SourceState, const absl::Status& cause)>;
  StateLog(const std::string& shown, Of of, Told told = {}, std::string stream = {});

  /// The source is in state `to` from now on, for `cause`, which is OK where there is none.
  void Enter(SourceState to, const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);
  /// Frames have come for so long that a camera's outage is over. Idempotent.
  void Hold() ABSL_LOCKS_EXCLUDED(mu_);
  /// Has a warning said that is about no state: `what`, behind the source's name.
  void Warn(const std::string& what) ABSL_LOCKS_EXCLUDED(mu_);
  /// Writes what has come up since to the log, and tells it, in its order, whichever threads write.
  void Say() ABSL_LOCKS_EXCLUDED(mu_, say_mu_);
  /// Whether Say() would write something.
  [[nodiscard]] bool has_unsaid() const ABSL_LOCKS_EXCLUDED(mu_);

  /// kConnecting before it has come into any.
  [[nodiscard]] SourceState state() const ABSL_LOCKS_EXCLUDED(mu_);
  /// How often it has come into each.
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
  const Of of_;
  const Told told_;
  const std::string stream_;

  Mutex say_mu_;  ///< Held while writing: taken before mu_, never with it.
  mutable Mutex mu_;
  std::vector<Line> unsaid_ ABSL_GUARDED_BY(mu_);
  std::optional<SourceState> state_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> causes_
      ABSL_GUARDED_BY(mu_);  ///< Of this outage, as far as they were said.
  SourceStateCounts entered_ ABSL_GUARDED_BY(mu_) = {};
};

}  // namespace millrace::ingest
