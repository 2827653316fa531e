// Decides when to connect to a camera, when to give a session up, and when to try again.
//
// Cameras fail in every way there is: refuse, accept and stay silent, freeze, end the stream. What
// they have in common is that frames stop coming, so that is what is judged: not the socket.
//
//             begin               first frame              no frame for 1 s
//   (start) ─────────▶ kConnecting ──────────▶ kStreaming ─────────────────▶ kStalled
//                       ▲  │                    │      ▲        a frame       │    │
//      the wait is over │  │ failure, or no     │      └──────────────────────┘    │
//                       │  │ frame within 8 s   │ failure       failure, or no     │
//                       │  ▼                    │               frame for 2 s      │
//                     kBackingOff ◀─────────────┴──────────────────────────────────┘
//
// Everything here is pure: time and events come in, decisions go out. Threads and GStreamer are
// the caller's.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ingest/frame/frame_rhythm.h"
#include "ingest/source/backoff.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

struct SessionLimits {
  /// A session must show its first frame within this time.
  std::chrono::nanoseconds first_frame = std::chrono::seconds(8);
  /// After that, frames must not stay away for longer, or for four of the camera's own intervals
  /// (frame_rhythm.h) where that is longer. After half of either they have stalled. A camera that
  /// announces no rate is given twice this time for its first frames.
  std::chrono::nanoseconds between_frames = std::chrono::seconds(2);
  /// A session that streamed for this long was healthy: the next backoff starts from its shortest.
  /// Frames that came for this long without a stall hold: see SessionMachine::holds().
  std::chrono::nanoseconds healthy_after = std::chrono::seconds(5);
};

/// The life of a camera's sessions, one after another, for ever. Not thread-safe.
class SessionMachine {
 public:
  enum class Step {
    kBegin,  ///< Open a session now.
    kEnd,    ///< Tear the session down now.
    kWait,   ///< Nothing until `until`, or until an event comes.
  };
  struct Decision {
    Step step;
    std::chrono::nanoseconds until;
  };
  /// What it came to, and why.
  struct Transition {
    SourceState to;
    absl::Status cause;
  };

  SessionMachine(const SessionLimits& limits, const Backoff& backoff);

  /// What to do at `now`. A kBegin or kEnd counts as done: the caller does it before it asks again.
  [[nodiscard]] Decision Decide(std::chrono::nanoseconds now);

  /// A frame of the current session came. Ignored between sessions.
  void OnFrame(std::chrono::nanoseconds now);
  /// The current session failed. Its first cause counts. Ignored between sessions.
  void OnFailure(absl::Status cause);
  /// The next session begins at `until` or later.
  void HoldOff(std::chrono::nanoseconds until) { held_off_until_ = until; }
  /// The camera says how often it sends frames. Believed until enough of them have come.
  void ExpectFrameEvery(std::chrono::nanoseconds interval) { rhythm_.Announce(interval); }

  [[nodiscard]] SourceState state() const { return state_; }
  /// Why frames have stalled, or the last session ended, from then until a frame comes. OK before,
  /// and while streaming.
  [[nodiscard]] const absl::Status& cause() const { return cause_; }
  /// Whether frames have come for SessionLimits::healthy_after now, without a stall.
  [[nodiscard]] bool holds() const;
  /// Transitions since the last call, in order.
  [[nodiscard]] std::vector<Transition> TakeTransitions() {
    return std::exchange(transitions_, {});
  }
  /// Sessions begun so far.
  [[nodiscard]] std::int64_t sessions() const { return sessions_; }

 private:
  [[nodiscard]] bool InSession() const { return state_ != SourceState::kBackingOff; }
  void Enter(SourceState to, absl::Status cause);
  void Judge(std::chrono::nanoseconds now);
  /// How long frames may stay away; after half of it they have stalled.
  [[nodiscard]] std::chrono::nanoseconds Patience() const;
  /// When the next frame, or the first one, must have come.
  [[nodiscard]] std::chrono::nanoseconds FrameDueBy() const;
  Decision Begin(std::chrono::nanoseconds now);
  Decision End(std::chrono::nanoseconds now);

  // Constant after construction.
  const SessionLimits limits_;

  Backoff backoff_;
  SourceState state_ = SourceState::kBackingOff;
  absl::Status cause_;
  std::vector<Transition> transitions_;  ///< Not yet taken.
  absl::Status failure_;                 ///< Of the current session, not yet acted upon.
  std::int64_t sessions_ = 0;
  FrameRhythm rhythm_;
  std::chrono::nanoseconds retry_at_ = std::chrono::nanoseconds::min();
  std::chrono::nanoseconds held_off_until_ = std::chrono::nanoseconds::min();
  std::chrono::nanoseconds first_frame_at_{0};
  std::chrono::nanoseconds streaming_since_{0};
  std::chrono::nanoseconds last_frame_at_{0};
  std::chrono::nanoseconds first_frame_due_by_{0};
};

}  // namespace millrace::ingest
