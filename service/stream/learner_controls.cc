#include "service/stream/learner_controls.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/log_about.h"
#include "base/status.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

std::string_view Name(LearnerState state) {
  switch (state) {
    case LearnerState::kLearning:
      return "learning";
    case LearnerState::kFrozen:
      return "frozen";
    case LearnerState::kPaused:
      return "paused";
    case LearnerState::kGivenUp:
      return "given up";
    case LearnerState::kWaitingForRanks:
      return "waiting for ranks";
    case LearnerState::kFailed:
      return "failed";
    case LearnerState::kEnded:
      return "ended";
  }
  return "unknown";
}

pipeline::UpdatePolicyOptions LearnerControls::policy() const {
  const MutexLock lock(mu_);
  return policy_;
}

pipeline::OptimizerOptions LearnerControls::optimizer() const {
  const MutexLock lock(mu_);
  return optimizer_;
}

bool LearnerControls::SetMode(LearnerState mode, pipeline::Learner& learner) {
  const MutexLock lock(mu_);
  const bool other = mode_.exchange(mode) != mode;
  if (other) {
    learner.Freeze(mode == LearnerState::kFrozen);
    const LogAbout about(stream_);
    spdlog::debug("stream '{}': the learner is {} now, as it was told", stream_, Name(mode));
  }
  // If learning was given up, a new setting of the same rate restarts it. The lock excludes another
  // change in between.
  if (mode == LearnerState::kLearning && learner.learning().rate_scale == 0) {
    learner.SetLearningRate(learner.learning_rate()).IgnoreError();  // A rate in use is valid.
  }
  return other;
}

// The rate is set last, because a failed SetLearningRate() changes nothing.
absl::Status LearnerControls::Change(const LearnerChange& change, pipeline::Learner& learner) {
  const MutexLock lock(mu_);
  if (change.policy) MILLRACE_RETURN_IF_ERROR(learner.SetPolicy(*change.policy));
  absl::Cleanup keep_policy = [&, before = policy_] {
    if (change.policy) learner.SetPolicy(before).IgnoreError();
  };
  if (change.optimizer) MILLRACE_RETURN_IF_ERROR(learner.SetOptimizer(*change.optimizer));
  absl::Cleanup keep_optimizer = [&, before = optimizer_] {
    if (change.optimizer) learner.SetOptimizer(before).IgnoreError();
  };
  if (change.learning_rate) {
    MILLRACE_RETURN_IF_ERROR(learner.SetLearningRate(*change.learning_rate));
  }
  std::move(keep_policy).Cancel();
  std::move(keep_optimizer).Cancel();
  policy_ = change.policy.value_or(policy_);
  optimizer_ = change.optimizer.value_or(optimizer_);
  return absl::OkStatus();
}

}  // namespace millrace::service
