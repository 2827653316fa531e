// The operator's controls of a running learner.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/learner/learner.h"

namespace millrace::service {

/// The state of a stream's learner.
enum class LearnerState {
  kLearning,  ///< It predicts and learns.
  kFrozen,    ///< It predicts but does not learn, by request.
  kPaused,    ///< It does neither, by request.
  kGivenUp,   ///< It predicts but does not learn: its weights were invalid too often in a row.
  kWaitingForRanks,  ///< It does neither until all processes on other hosts have joined.
  kFailed,           ///< It does neither any more.
  kEnded,            ///< The stream has ended, and every frame has its outcome.
};

/// "learning", "frozen", "paused", "given up", "waiting for ranks", "failed", "ended".
[[nodiscard]] std::string_view Name(LearnerState state);

/// A change of a running learner. An absent value stays unchanged.
struct LearnerChange {
  std::optional<double> learning_rate = {};
  /// All but its learning rate.
  std::optional<pipeline::OptimizerOptions> optimizer = {};
  std::optional<pipeline::UpdatePolicyOptions> policy = {};

  [[nodiscard]] bool is_empty() const { return !learning_rate && !optimizer && !policy; }
};

/// Stores the requested mode, policy and optimizer of a learner. Thread-safe.
class LearnerControls {
 public:
  /// `stream` is for the log. `policy` and `optimizer` are the configured ones.
  LearnerControls(std::string stream, const pipeline::UpdatePolicyOptions& policy,
                  const pipeline::OptimizerOptions& optimizer)
      : stream_(std::move(stream)), policy_(policy), optimizer_(optimizer) {}

  /// kLearning, kFrozen or kPaused, as requested.
  [[nodiscard]] LearnerState mode() const { return mode_; }
  [[nodiscard]] pipeline::UpdatePolicyOptions policy() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] pipeline::OptimizerOptions optimizer() const ABSL_LOCKS_EXCLUDED(mu_);

  /// As CameraStream::SetMode(). Returns whether the mode has changed.
  bool SetMode(LearnerState mode, pipeline::Learner& learner);
  /// As CameraStream::Change().
  [[nodiscard]] absl::Status Change(const LearnerChange& change, pipeline::Learner& learner)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const std::string stream_;
  std::atomic<LearnerState> mode_ = LearnerState::kLearning;

  mutable Mutex mu_;  // Held during a change, so that changes run one at a time.
  pipeline::UpdatePolicyOptions policy_ ABSL_GUARDED_BY(mu_);
  pipeline::OptimizerOptions optimizer_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
