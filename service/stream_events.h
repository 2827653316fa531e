// What happens to the camera streams, one event after the other, for any number of watchers.
//
// Whoever makes something happen appends it and never waits. A watcher has a cursor of its own; one
// that falls behind by more than is kept has lost events, and is told how many.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "service/camera_stream.h"

namespace millrace::service {

/// What happened to a stream.
struct StreamEvent {
  enum class Kind { kExists, kCreated, kUpdated, kDeleted, kSourceState, kLearnerState };

  std::string stream = {};
  Kind kind = Kind::kExists;
  /// By the wall clock, since 1970.
  std::chrono::nanoseconds time{0};
  /// What both were doing from then on.
  ingest::SourceState source = ingest::SourceState::kConnecting;
  LearnerState learner = LearnerState::kLearning;
  /// Why; empty where nothing is wrong.
  std::string cause = {};
};

/// Keeps the last events, and what each stream was doing last. Thread-safe.
class StreamEvents {
 public:
  /// The number of the event that a watcher wants next.
  using Cursor = std::uint64_t;

  struct Read {
    std::optional<StreamEvent> event;
    /// Events between the cursor and this one, lost to the watcher.
    std::uint64_t missed = 0;
  };

  StreamEvents() = default;
  StreamEvents(const StreamEvents&) = delete;
  StreamEvents& operator=(const StreamEvents&) = delete;

  /// Appends what happened to `stream` as a whole. Of one that is not created yet, or no more,
  /// there are no events: what it is doing before shows in kCreated.
  void Happened(const std::string& stream, StreamEvent::Kind kind) ABSL_LOCKS_EXCLUDED(mu_);
  /// The source of `stream` is in another state from now on.
  void SourceIs(const std::string& stream, ingest::SourceState state, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Its learner is. The same state again is no event.
  void LearnerIs(const std::string& stream, LearnerState state, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Nothing is known of `stream` any more: it was not created after all.
  void Forget(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);

  /// A cursor behind the last event, and what each stream is doing at that moment, as kExists.
  [[nodiscard]] Cursor Begin(std::deque<StreamEvent>& now) const ABSL_LOCKS_EXCLUDED(mu_);
  /// The next event, of `stream` alone unless that is empty, and moves `cursor` past it.
  [[nodiscard]] Read Next(Cursor& cursor, const std::string& stream) const ABSL_LOCKS_EXCLUDED(mu_);

  /// `listener` is called after each event, without a lock held, from any thread: it must only wake
  /// somebody. Null: nobody listens. Waits for a call under way.
  void Listen(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(listening_mu_);

 private:
  struct State {
    ingest::SourceState source = ingest::SourceState::kConnecting;
    LearnerState learner = LearnerState::kLearning;
    std::string source_cause = {};
    std::string learner_cause = {};
    bool created = false;
  };

  void Append(const std::string& stream, StreamEvent::Kind kind, const State& state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Tell() ABSL_LOCKS_EXCLUDED(listening_mu_);

  mutable Mutex mu_;
  std::deque<StreamEvent> events_ ABSL_GUARDED_BY(mu_);
  std::uint64_t appended_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, State> states_ ABSL_GUARDED_BY(mu_);

  Mutex listening_mu_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listening_mu_);
};

}  // namespace millrace::service
