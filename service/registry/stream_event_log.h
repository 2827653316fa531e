// A log of stream events for any number of watchers.
//
// A producer appends an event and never waits. Each watcher has its own cursor. A watcher that
// falls behind the kept events loses the oldest, and gets their number.
//
// A restart begins a new incarnation of the stream, and for a moment both incarnations may run.
// Watchers see only the incarnation that was last created or replaced the other:
//
//   incarnation 1   Begin ─▶ kCreated ─▶ states ... ─▶ (hidden from now on)
//   incarnation 2               Begin ─▶ (states) ───▶ kUpdated ─▶ states ... ─▶ kDeleted
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// One event of a stream.
struct StreamEvent {
  enum class Kind { kExists, kCreated, kUpdated, kDeleted, kSourceState, kLearnerState, kOverload };

  std::string stream = {};
  Kind kind = Kind::kExists;
  /// Wall-clock time, since 1970.
  std::chrono::nanoseconds time{0};
  /// The states of the source and the learner after the event.
  ingest::SourceState source = ingest::SourceState::kConnecting;
  LearnerState learner = LearnerState::kLearning;
  /// The reason for the state; empty if there is no error.
  std::string cause = {};
  /// The kind of overload after the event, its description, and its remedies.
  OverloadKind overload = OverloadKind::kNone;
  std::string overload_cause = {};
  std::string overload_remedy = {};
};

/// Keeps the last events and the current state of each stream. Thread-safe.
class StreamEventLog {
 public:
  /// The number of the next event that a watcher will read.
  using Cursor = std::uint64_t;
  /// Identifies one incarnation of a stream. 0: an incarnation that reports no events.
  using Incarnation = std::uint64_t;

  struct Read {
    std::optional<StreamEvent> event;
    /// The number of lost events that this call skipped, of all streams.
    std::uint64_t missed = 0;
    /// There is no event, and the event of the stream's deletion was lost.
    bool gone = false;
    /// There is no event, and no event will follow.
    bool over = false;
  };

  StreamEventLog() = default;
  StreamEventLog(const StreamEventLog&) = delete;
  StreamEventLog& operator=(const StreamEventLog&) = delete;

  /// Begins an incarnation of `stream`. It stays hidden from watchers until kCreated or kUpdated;
  /// that event then shows its current state.
  [[nodiscard]] Incarnation Begin(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// Appends an event about the whole stream of `incarnation`. kCreated and kUpdated show this
  /// incarnation to watchers; kDeleted ends it.
  void Happened(Incarnation incarnation, StreamEvent::Kind kind) ABSL_LOCKS_EXCLUDED(mu_);
  /// Appends a new state of the source.
  void SourceIs(Incarnation incarnation, ingest::SourceState state, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Appends a new state of the learner. An unchanged state is no event.
  void LearnerIs(Incarnation incarnation, LearnerState state, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Appends a new kind of overload.
  void OverloadIs(Incarnation incarnation, const Overload& overload) ABSL_LOCKS_EXCLUDED(mu_);
  /// Drops an incarnation whose stream was never added.
  void Forget(Incarnation incarnation) ABSL_LOCKS_EXCLUDED(mu_);

  /// Ends the log when the server stops. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  /// Returns a cursor behind the last event, and appends the current state of each stream to `now`,
  /// as kExists. A non-empty `stream` selects one stream; an unknown one appends nothing.
  [[nodiscard]] Cursor Watch(const std::string& stream, std::deque<StreamEvent>& now) const
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The next event; a non-empty `stream` selects those of one stream. Moves `cursor` past it.
  [[nodiscard]] Read Next(Cursor& cursor, const std::string& stream) const ABSL_LOCKS_EXCLUDED(mu_);

  /// `listener` is called after each event and at Close(), from any thread, with the listener's
  /// lock held. It must only wake a thread, and must not call Listen(). Null: no listener. Waits
  /// for a running call of the old listener.
  void Listen(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(listening_mu_);

 private:
  struct State {
    std::string stream = {};
    ingest::SourceState source = ingest::SourceState::kConnecting;
    LearnerState learner = LearnerState::kLearning;
    std::string source_cause = {};
    std::string learner_cause = {};
    Overload overload = {};
    bool shown = false;
  };

  [[nodiscard]] bool IsShown(const std::string& stream) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Shows `incarnation` to watchers and hides any other incarnation of its stream.
  void Show(Incarnation incarnation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] static StreamEvent EventOf(StreamEvent::Kind kind, const State& state);
  void Append(StreamEvent::Kind kind, const State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Notify() ABSL_LOCKS_EXCLUDED(listening_mu_);

  mutable Mutex mu_;
  std::deque<StreamEvent> events_ ABSL_GUARDED_BY(mu_);
  std::uint64_t appended_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Incarnation, State> incarnations_ ABSL_GUARDED_BY(mu_);
  Incarnation begun_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;

  Mutex listening_mu_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listening_mu_);
};

}  // namespace millrace::service
