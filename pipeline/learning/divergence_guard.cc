#include "pipeline/learning/divergence_guard.h"

namespace millrace::pipeline {

std::string_view Name(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      break;
    case Refusal::kNonFinite:
      return "non_finite";
    case Refusal::kLeaves:
      return "leaves_picture";
    case Refusal::kTooFast:
      return "too_fast";
  }
  return "none";
}

Refusal DivergenceGuard::Next(const PredictionHealth& health) {
  const Refusal refusal = Judge(health);
  refused_ = refusal == Refusal::kNone ? 0 : refused_ + 1;
  if (refusal != Refusal::kNonFinite) {
    window_.push_back({health.loss, health.loss_no_motion});
    if (static_cast<int>(window_.size()) > options_.window) window_.pop_front();
  }
  return refusal;
}

Refusal DivergenceGuard::Judge(const PredictionHealth& health) const {
  if (!health.finite) return Refusal::kNonFinite;
  if (health.leaving_share > options_.most_leaving) return Refusal::kLeaves;
  if (health.motion > options_.most_motion) return Refusal::kTooFast;
  return Refusal::kNone;
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
