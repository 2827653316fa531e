// The lifecycle of a stream's learner. It reports each state change to one observer.
//
//   learning ◀─▶ frozen, paused, given up, waiting for ranks ──▶ ended
//        └──────────┴─────────▶ failed ──▶ (ended: it stays known as failed)
//
// Reports come in the order of the changes, from any thread. A client's request at the stream's end
// is reported before the end, or refused.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/learner/optimizer_options.h"
#include "service/stream/learner_controls.h"

namespace millrace::service {

/// Why this learning rate may make the weights invalid, and the remedy: "model.learning_rate is 1,
/// 10000 times the default, and the likely cause: set 0.0001". Empty for a usual rate.
[[nodiscard]] std::string RateAdvice(pipeline::OptimizerOptions::Kind optimizer,
                                     double learning_rate);

/// The meaning of kGivenUp and its remedy: FAILED_PRECONDITION, NOT_LEARNING.
[[nodiscard]] absl::Status GivenUp(const std::string& stream,
                                   pipeline::OptimizerOptions::Kind optimizer,
                                   double learning_rate);

/// Thread-safe.
class LearnerLifecycle {
 public:
  using OnState = std::function<void(LearnerState, const absl::Status& cause)>;
  enum class Phase { kRunning, kEnded, kStopped };

  /// `on_state` is called under a lock: it must return quickly and not call back. May be empty.
  LearnerLifecycle(std::string stream, OnState on_state)
      : stream_(std::move(stream)), on_state_(std::move(on_state)) {}

  LearnerLifecycle(const LearnerLifecycle&) = delete;
  LearnerLifecycle& operator=(const LearnerLifecycle&) = delete;

  /// Reports that the learner learns.
  void Begin() ABSL_LOCKS_EXCLUDED(notifying_);
  /// Calls `change`, which sets `mode`, and reports `mode` if `change` returns true.
  /// FAILED_PRECONDITION as Alive(); then `change` is not called.
  [[nodiscard]] absl::Status Change(LearnerState mode, const std::function<bool()>& change)
      ABSL_LOCKS_EXCLUDED(notifying_);
  /// Reports a state that the learner itself entered or left. No report after failure or end.
  void Note(LearnerState state, const absl::Status& cause) ABSL_LOCKS_EXCLUDED(notifying_);
  /// The learner has failed. Stores, logs and reports the first cause; later ones are its
  /// consequences.
  void Fail(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(notifying_);
  /// The stream has ended, and every frame has its outcome. Reports it before AwaitEnd() returns,
  /// unless the learner has failed. REQUIRES: `phase` is not kRunning.
  void End(Phase phase) ABSL_LOCKS_EXCLUDED(notifying_);
  void AwaitEnd() ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] Phase phase() const ABSL_LOCKS_EXCLUDED(mu_);
  /// OK until the failure; then its cause with the stream's name.
  [[nodiscard]] absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);
  /// The learner's state if the requested mode is `mode`.
  [[nodiscard]] LearnerState StateIn(LearnerState mode) const ABSL_LOCKS_EXCLUDED(mu_);
  /// OK while the learner learns or could learn; else FAILED_PRECONDITION, LEARNER_FAILED or
  /// STREAM_ENDED.
  [[nodiscard]] absl::Status Alive() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Notify(LearnerState state, const absl::Status& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(notifying_);

  // Constant after construction.
  const std::string stream_;
  const OnState on_state_;

  Mutex notifying_;  // Held during a change and its report. Locked before mu_.

  mutable Mutex mu_;
  CondVar ended_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kRunning;
};

}  // namespace millrace::service
