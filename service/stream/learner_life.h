// How a stream's learner fares, from its start to its end, and the telling of it.
//
//   learning ◀─▶ frozen, paused, given up ──▶ ended
//        └──────────┴─────────▶ failed ──▶ (ended: it stays known as failed)
//
// What is told comes in the order in which it happened, from whatever threads: an order of a client
// that comes as the stream ends is told before the end, or refused.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/stream/learner_controls.h"

namespace millrace::service {

/// Why the weights of a learner of this rate may go wrong, and what to set: "model.learning_rate is
/// 1, 10000 times the default, and the likely cause: set 0.0001". Empty where the rate is usual.
[[nodiscard]] std::string RateAdvice(double learning_rate);

/// What kGivenUp means, and what to do: FAILED_PRECONDITION, NOT_LEARNING.
[[nodiscard]] absl::Status GivenUp(const std::string& stream, double learning_rate);

/// Thread-safe.
class LearnerLife {
 public:
  using Tell = std::function<void(LearnerState, const absl::Status& cause)>;
  enum class Phase { kRunning, kEnded, kStopped };

  /// `tell` is called under a lock: it must be quick, and not call back. May be empty.
  LearnerLife(std::string stream, Tell tell) : stream_(std::move(stream)), tell_(std::move(tell)) {}

  LearnerLife(const LearnerLife&) = delete;
  LearnerLife& operator=(const LearnerLife&) = delete;

  /// Tells that it learns.
  void Begin() ABSL_LOCKS_EXCLUDED(telling_);
  /// Tells that it is in `mode`, if `change`, which brings it there, says that this is news.
  /// FAILED_PRECONDITION as Alive(), and then `change` is not called.
  [[nodiscard]] absl::Status Change(LearnerState mode, const std::function<bool()>& change)
      ABSL_LOCKS_EXCLUDED(telling_);
  /// It is in another state by itself, or no longer. Not told once it has failed or ended.
  void Note(LearnerState state, const absl::Status& cause) ABSL_LOCKS_EXCLUDED(telling_);
  /// It has failed. Keeps, logs and tells the first cause; later ones follow from it.
  void Fail(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(telling_);
  /// The stream is over, and every frame accounted for. Told, unless it has failed, before
  /// AwaitEnd() returns. REQUIRES: `phase` is not kRunning.
  void End(Phase phase) ABSL_LOCKS_EXCLUDED(telling_);
  void AwaitEnd() ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] Phase phase() const ABSL_LOCKS_EXCLUDED(mu_);
  /// OK until it fails; then why, naming the stream.
  [[nodiscard]] absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);
  /// What it is doing, if it was told to be in `mode`.
  [[nodiscard]] LearnerState StateIn(LearnerState mode) const ABSL_LOCKS_EXCLUDED(mu_);
  /// FAILED_PRECONDITION, LEARNER_FAILED or STREAM_ENDED, unless it still learns or could.
  [[nodiscard]] absl::Status Alive() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Say(LearnerState state, const absl::Status& cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(telling_);

  // Constant after construction.
  const std::string stream_;
  const Tell tell_;

  Mutex telling_;  // Held while something changes and is told: one after the other. Before mu_.

  mutable Mutex mu_;
  CondVar ended_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kRunning;
};

}  // namespace millrace::service
