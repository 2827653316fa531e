// What happens to the camera streams, one event after the other, for any number of watchers.
//
// Whoever makes something happen appends it and never waits. A watcher has a cursor of its own; one
// that falls behind by more than is kept has lost events, and is told how many.
//
// A stream that is made anew lives again, and for a moment both lives may be at work. Watchers hear
// of the one that was created or took its place last, and of no other:
//
//   life 1   Begin ─▶ kCreated ─▶ states ... ─▶ (nobody hears of it any more)
//   life 2               Begin ─▶ (states) ───▶ kUpdated ─▶ states ... ─▶ kDeleted
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

/// What happened to a stream.
struct StreamEvent {
  enum class Kind { kExists, kCreated, kUpdated, kDeleted, kSourceState, kLearnerState, kOverload };

  std::string stream = {};
  Kind kind = Kind::kExists;
  /// By the wall clock, since 1970.
  std::chrono::nanoseconds time{0};
  /// What both were doing from then on.
  ingest::SourceState source = ingest::SourceState::kConnecting;
  LearnerState learner = LearnerState::kLearning;
  /// Why; empty where nothing is wrong.
  std::string cause = {};
  /// What the stream gave up from then on, that in words, and what would help.
  OverloadKind overload = OverloadKind::kNone;
  std::string overload_cause = {};
  std::string overload_remedy = {};
};

/// Keeps the last events, and what each stream was doing last. Thread-safe.
class StreamEvents {
 public:
  /// The number of the event that a watcher wants next.
  using Cursor = std::uint64_t;
  /// Stands for one life of a stream. 0: of one that tells nothing.
  using Life = std::uint64_t;

  struct Read {
    std::optional<StreamEvent> event;
    /// Events that this call passed over because they are not kept any more, of whatever streams.
    std::uint64_t missed = 0;
    /// There is no event, and the one that told of the stream's end is among those lost.
    bool gone = false;
    /// There is no event, and none will come.
    bool over = false;
  };

  StreamEvents() = default;
  StreamEvents(const StreamEvents&) = delete;
  StreamEvents& operator=(const StreamEvents&) = delete;

  /// A life of `stream` begins, of which nobody hears before it is created or updated: what it is
  /// doing until then shows in that event.
  [[nodiscard]] Life Begin(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// Appends what happened to the stream of `life` as a whole. Created or updated, it is this life
  /// that watchers hear of from then on; deleted, there is none.
  void Happened(Life life, StreamEvent::Kind kind) ABSL_LOCKS_EXCLUDED(mu_);
  /// The source of `life` is in another state from now on.
  void SourceIs(Life life, ingest::SourceState state, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Its learner is. The same state again is no event.
  void LearnerIs(Life life, LearnerState state, const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);
  /// The stream of `life` gives up something else than before.
  void OverloadIs(Life life, const Overload& overload) ABSL_LOCKS_EXCLUDED(mu_);
  /// Nothing is known of `life` any more: it was not to be.
  void Forget(Life life) ABSL_LOCKS_EXCLUDED(mu_);

  /// No more events come: the server stops. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  /// A cursor behind the last event, and what each stream, or `stream` alone unless that is empty,
  /// is doing at that moment, as kExists: none if there is no such stream.
  [[nodiscard]] Cursor Watch(const std::string& stream, std::deque<StreamEvent>& now) const
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The next event, of `stream` alone unless that is empty, and moves `cursor` past it.
  [[nodiscard]] Read Next(Cursor& cursor, const std::string& stream) const ABSL_LOCKS_EXCLUDED(mu_);

  /// `listener` is called after each event and at Close(), from any thread, with the lock held
  /// under which listeners change: it must only wake somebody, and not call Listen(). Null: nobody
  /// listens. Waits for a call under way.
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
  /// Watchers hear of `life` from now on, and of no other of its stream.
  void Show(Life life) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] static StreamEvent EventOf(StreamEvent::Kind kind, const State& state);
  void Append(StreamEvent::Kind kind, const State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Tell() ABSL_LOCKS_EXCLUDED(listening_mu_);

  mutable Mutex mu_;
  std::deque<StreamEvent> events_ ABSL_GUARDED_BY(mu_);
  std::uint64_t appended_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Life, State> lives_ ABSL_GUARDED_BY(mu_);
  Life begun_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;

  Mutex listening_mu_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listening_mu_);
};

}  // namespace millrace::service
