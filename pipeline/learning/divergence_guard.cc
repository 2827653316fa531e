#include "pipeline/learning/divergence_guard.h"

namespace millrace::pipeline {

SkipReason DivergenceGuard::Next(const PredictionHealth& health) {
  const SkipReason refusal = Judge(health);
  refused_ = refusal == SkipReason::kNone ? 0 : refused_ + 1;
  if (refusal != SkipReason::kNonFinite) {
    window_.push_back({health.sample, health.loss, health.loss_no_motion});
    if (static_cast<int>(window_.size()) > options_.window) window_.pop_front();
  }
  return refusal;
}

SkipReason DivergenceGuard::Judge(const PredictionHealth& health) const {
  if (!health.finite) return SkipReason::kNonFinite;
  if (health.leaving_share > options_.most_leaving) return SkipReason::kLeavesPicture;
  if (health.motion > options_.most_motion) return SkipReason::kTooFast;
  return SkipReason::kNone;
}

bool DivergenceGuard::Diverged() const {
  return refused_ >= options_.most_refused || (IsFull() && Ratio() > options_.most_loss);
}

bool DivergenceGuard::Healthy() const { return IsFull() && refused_ == 0 && Ratio() <= 1; }

void DivergenceGuard::Restart() {
  window_.clear();
  refused_ = 0;
}

double DivergenceGuard::Ratio() const {
  Losses sum;
  for (const Losses& losses : window_) {
    sum.loss += losses.loss;
    sum.no_motion += losses.no_motion;
  }
  // Of still pictures alone nothing can be said.
  return sum.no_motion > 0 ? sum.loss / sum.no_motion : 1;
}

}  // namespace millrace::pipeline
