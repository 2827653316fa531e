#include "pipeline/decisions/divergence_guard.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace millrace::pipeline {
namespace {

// The start may be worse than no model. A rate that is far too high makes the weights worse than
// their start within a few updates, already in the first fifth of a window. So only the first
// prediction surely shows the start itself. One prediction varies, and a network's cold start may
// become four times as bad after a few updates. So the limit is well above that.
constexpr double kMostGrowth = 10;

}  // namespace

SkipReason DivergenceGuard::Next(const PredictionHealth& health) {
  const SkipReason refusal = Judge(health);
  const bool refused = refusal != SkipReason::kNone;
  refused_ = refused ? refused_ + 1 : 0;
  // Losses that are not finite count as 0.
  const bool counts = refusal != SkipReason::kNonFinite;
  window_.push_back({.sample = health.sample,
                     .loss = counts ? health.loss : 0,
                     .no_motion = counts ? health.loss_no_motion : 0,
                     .refused = refused});
  if (static_cast<int>(window_.size()) > options_.window) window_.pop_front();
  if (best_ == std::numeric_limits<double>::infinity()) best_ = kMostGrowth * RatioOfLast(1);
  if (IsFull() || static_cast<int>(window_.size()) == fifth()) {
    best_ = std::min(best_, RatioOfLast(static_cast<int>(window_.size())));
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
  if (refused_ >= options_.most_refused) return true;
  if (!IsFull()) return false;
  return 2 * RefusedOfLast(options_.window) >= options_.window ||
         RatioOfLast(options_.window) > MostRatio(options_.most_loss);
}

bool DivergenceGuard::Healthy() const {
  return IsFull() && RefusedOfLast(options_.window) == 0 &&
         RatioOfLast(options_.window) <= (1 + options_.most_loss) / 2;
}

bool DivergenceGuard::Sound() const {
  return !Diverged() && RefusedOfLast(fifth()) == 0 &&
         RatioOfLast(fifth()) <= MostRatio(options_.most_loss);
}

void DivergenceGuard::Restart() {
  window_.clear();
  best_ = std::numeric_limits<double>::infinity();
  refused_ = 0;
}

double DivergenceGuard::RatioOfLast(int predictions) const {
  const auto count = std::min(window_.size(), static_cast<std::size_t>(predictions));
  double loss = 0;
  double no_motion = 0;
  for (auto entry = window_.end() - static_cast<std::ptrdiff_t>(count); entry != window_.end();
       ++entry) {
    loss += entry->loss;
    no_motion += entry->no_motion;
  }
  // Still pictures alone give no information.
  return no_motion > 0 ? loss / no_motion : 1;
}

int DivergenceGuard::RefusedOfLast(int predictions) const {
  const auto count = std::min(window_.size(), static_cast<std::size_t>(predictions));
  return static_cast<int>(std::count_if(window_.end() - static_cast<std::ptrdiff_t>(count),
                                        window_.end(), [](const Entry& e) { return e.refused; }));
}

}  // namespace millrace::pipeline
