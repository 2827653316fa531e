#include "pipeline/decisions/divergence_detector.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace millrace::pipeline {
namespace {

// The limits of a flow that the model may learn from. They are the share of it that leaves the
// picture, and its mean length in widths of the picture. Half the picture is more motion than the
// video of a camera has between two frames. At ten frames a second, it is five widths in a second.
// The matches of the other half still lie in the picture, so a fast pan remains a sample.
constexpr double kMaxLeavingShare = 0.5;
constexpr double kMaxMotion = 0.5;

// The start may be worse than no model. A rate that is far too high makes the weights worse than
// their start within a few updates. It happens already in the first fifth of a window. So only the
// first prediction surely shows the start itself. One prediction varies, and a network's cold start
// may become four times as bad after a few updates. So the limit is well above that.
constexpr double kMaxGrowth = 10;

SkipReason WhyRefused(const PredictionHealth& health) {
  if (!health.finite) return SkipReason::kNonFinite;
  if (health.leaving_share > kMaxLeavingShare) return SkipReason::kLeavesPicture;
  if (health.motion > kMaxMotion) return SkipReason::kTooFast;
  return SkipReason::kNone;
}

}  // namespace

SkipReason DivergenceDetector::Add(const PredictionHealth& health) {
  const SkipReason refusal = WhyRefused(health);
  const bool refused = refusal != SkipReason::kNone;
  refused_ = refused ? refused_ + 1 : 0;
  // Losses that are not finite count as 0.
  const bool counts = refusal != SkipReason::kNonFinite;
  window_.push_back({.sample = health.sample,
                     .loss = counts ? health.loss : 0,
                     .no_motion = counts ? health.loss_no_motion : 0,
                     .refused = refused});
  if (static_cast<int>(window_.size()) > options_.window) window_.pop_front();
  if (baseline_ == std::numeric_limits<double>::infinity()) {
    baseline_ = kMaxGrowth * RatioOfLast(1);
  }
  if (IsFull() || static_cast<int>(window_.size()) == fifth()) {
    baseline_ = std::min(baseline_, RatioOfLast(static_cast<int>(window_.size())));
  }
  diverged_ = IsDiverged();
  sound_ = IsSound();
  ratio_ = IsFull() ? RatioOfLast(options_.window) : 1;
  if (IsHealthy()) proven_ = window_.front().sample - 1;
  return refusal;
}

void DivergenceDetector::AddFinite(bool finite) {
  refused_ = finite ? 0 : refused_ + 1;
  diverged_ = IsDiverged();
}

void DivergenceDetector::Restart() {
  window_.clear();
  baseline_ = std::numeric_limits<double>::infinity();
  refused_ = 0;
  diverged_ = false;
  sound_ = true;
  ratio_ = 1;
}

bool DivergenceDetector::IsDiverged() const {
  if (refused_ >= options_.max_refused) return true;
  if (!IsFull()) return false;
  return 2 * RefusedOfLast(options_.window) >= options_.window ||
         RatioOfLast(options_.window) > MaxRatio();
}

bool DivergenceDetector::IsHealthy() const {
  return IsFull() && RefusedOfLast(options_.window) == 0 &&
         RatioOfLast(options_.window) <= (1 + options_.max_loss) / 2;
}

bool DivergenceDetector::IsSound() const {
  return !IsDiverged() && RefusedOfLast(fifth()) == 0 && RatioOfLast(fifth()) <= MaxRatio();
}

double DivergenceDetector::RatioOfLast(int predictions) const {
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

int DivergenceDetector::RefusedOfLast(int predictions) const {
  const auto count = std::min(window_.size(), static_cast<std::size_t>(predictions));
  return static_cast<int>(std::count_if(window_.end() - static_cast<std::ptrdiff_t>(count),
                                        window_.end(), [](const Entry& e) { return e.refused; }));
}

}  // namespace millrace::pipeline
