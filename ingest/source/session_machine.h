// Decides when to connect to a camera, when to end a session, and when to retry.
//
// Cameras fail in many ways: they refuse, accept and stay silent, freeze, or end the stream. Each
// fault stops the frames, so the machine watches the frames and not the socket.
//
//             begin               first frame              no frame for 1 s
//   (start) ─────────▶ kConnecting ──────────▶ kStreaming ─────────────────▶ kStalled
//                       ▲  │                    │      ▲        a frame       │    │
//      the wait is over │  │ failure, or no     │      └──────────────────────┘    │
//                       │  │ frame within 8 s   │ failure       failure, or no     │
//                       │  ▼                    │               frame for 2 s      │
//                     kBackingOff ◀─────────────┴──────────────────────────────────┘
//
// All code here is pure: time and events are inputs, decisions are outputs. The caller has the
// threads and GStreamer.
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
  /// The maximum time between later frames, or four of the camera's intervals (frame_rhythm.h) if
  /// that is longer. After half of it the session has stalled. A camera without an announced rate
  /// gets twice this time for its first frames.
  std::chrono::nanoseconds between_frames = std::chrono::seconds(2);
  /// A session that streamed for this long was healthy: the next backoff starts at its minimum.
  /// Frames without a stall for this long are stable: see SessionMachine::holds().
  std::chrono::nanoseconds healthy_after = std::chrono::seconds(5);
};

/// The sequence of a camera's sessions, without an end. Not thread-safe.
class SessionMachine {
 public:
  enum class Step {
    kBegin,  ///< Open a session now.
    kEnd,    ///< Tear the session down now.
    kWait,   ///< Do nothing until `until`, or until an event.
  };
  struct Decision {
    Step step;
    std::chrono::nanoseconds until;
  };
  /// A new state and its cause.
  struct Transition {
    SourceState to;
    absl::Status cause;
  };

  SessionMachine(const SessionLimits& limits, const Backoff& backoff);

  /// The next step at `now`. The machine counts a kBegin or kEnd as done: the caller must do it
  /// before the next call.
  [[nodiscard]] Decision Decide(std::chrono::nanoseconds now);

  /// Reports a frame of the current session. Ignored between sessions.
  void OnFrame(std::chrono::nanoseconds now);
  /// Reports that the current session failed. The first cause counts. Ignored between sessions.
  void OnFailure(absl::Status cause);
  /// The next session begins at `until` or later.
  void HoldOff(std::chrono::nanoseconds until) { held_off_until_ = until; }
  /// Reports the frame interval that the camera announces. It counts until enough frames have come.
  void ExpectFrameEvery(std::chrono::nanoseconds interval) { rhythm_.Announce(interval); }

  [[nodiscard]] SourceState state() const { return state_; }
  /// The cause of a stall or of the last session's end, until the next frame. OK before that and
  /// while streaming.
  [[nodiscard]] const absl::Status& cause() const { return cause_; }
  /// Whether frames have come without a stall for SessionLimits::healthy_after.
  [[nodiscard]] bool holds() const;
  /// Transitions since the last call, in order.
  [[nodiscard]] std::vector<Transition> TakeTransitions() {
    return std::exchange(transitions_, {});
  }
  /// Number of sessions so far.
  [[nodiscard]] std::int64_t sessions() const { return sessions_; }

 private:
  [[nodiscard]] bool InSession() const { return state_ != SourceState::kBackingOff; }
  void Enter(SourceState to, absl::Status cause);
  void Judge(std::chrono::nanoseconds now);
  /// The maximum time between frames; after half of it they have stalled.
  [[nodiscard]] std::chrono::nanoseconds Patience() const;
  /// The time by which the next frame, or the first one, must come.
  [[nodiscard]] std::chrono::nanoseconds FrameDueBy() const;
  Decision Begin(std::chrono::nanoseconds now);
  Decision End(std::chrono::nanoseconds now);

  // Constant after construction.
  const SessionLimits limits_;

  Backoff backoff_;
  SourceState state_ = SourceState::kBackingOff;
  absl::Status cause_;
  std::vector<Transition> transitions_;  ///< Not taken yet.
  absl::Status failure_;                 ///< The current session's failure before End().
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
