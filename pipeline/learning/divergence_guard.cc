#include "pipeline/learning/divergence_guard.h"

#include <algorithm>
#include <limits>

namespace millrace::pipeline {

SkipReason DivergenceGuard::Next(const PredictionHealth& health) {
  const SkipReason refusal = Judge(health);
  refused_ = refusal == SkipReason::kNone ? 0 : refused_ + 1;
  if (refusal != SkipReason::kNonFinite) {
    window_.push_back({health.sample, health.loss, health.loss_no_motion});
    if (static_cast<int>(window_.size()) > options_.window) window_.pop_front();
    if (IsFull()) best_ = std::min(best_, Ratio());
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
  return refused_ >= options_.most_refused || (IsFull() && Ratio() > MostRatio(options_.most_loss));
}

bool DivergenceGuard::Healthy() const {
  return IsFull() && !Refusing() && Ratio() <= MostRatio((1 + options_.most_loss) / 2);
}

void DivergenceGuard::Restart() {
  window_.clear();
  best_ = std::numeric_limits<double>::infinity();
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
