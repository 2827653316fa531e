#include "pipeline/safe_learning.h"

#include <cmath>
#include <utility>

namespace millrace::pipeline {

namespace {

// Where every sample says something of the weights, so many that the oldest has had the time to
// prove good, with a pipeline's length to spare.
std::size_t MostUnproven(const SafeLearning::Options& options) {
  return static_cast<std::size_t>(options.divergence.window / options.copy_every + 3);
}

}  // namespace

SafeLearning::SafeLearning(const Options& options, Start start)
    : most_left_out_(options.divergence.most_refused),
      most_kept_ratio_(options.most_kept_ratio),
      on_good_(options.on_good),
      health_(options.divergence),
      good_(std::move(start.state), MostUnproven(options)),
      collector_(options.copy_every, [this](NetworkState state) { OnCopy(std::move(state)); }),
      origin_(std::move(start.origin)),
      ratios_({}),
      rate_(options.recover_after, start.rate_scale) {
  counts_.rate_scale = start.rate_scale;
}

void SafeLearning::OnCopy(NetworkState state) {
  // No update makes it so (Optimizer::Step()); what a user's own layer does to itself may.
  if (!AllFinite(state)) not_finite_ = true;
  std::optional<NetworkState> good = good_.Add(std::move(state), health_.proven());
  const double ratio = proven_ratio_;
  if (good && on_good_ && ratio <= most_kept_ratio_) {
    on_good_({.state = *std::move(good), .ratio = ratio});
  }
}

bool SafeLearning::OnJudged(const Judged& judged, StagedNetwork& network) {
  counts_.last_sample = judged.sample;
  if (const std::int64_t proven = health_.proven(); std::exchange(proven_, proven) != proven) {
    proven_ratio_ = health_.ratio();
  }
  if (judged.learned) OnLearned(network);
  if (!judged.ratio || !std::isfinite(*judged.ratio)) return false;
  const auto change = ratios_.Add(*judged.ratio);
  const bool drift = change && change->after > change->before;
  counts_.drifts += drift ? 1 : 0;
  return drift;
}

// What came of the sample's own updates shows at the next one.
void SafeLearning::OnLearned(StagedNetwork& network) {
  ++learned_;
  const std::int64_t not_finite = network.gradients_not_finite();
  left_out_ = std::exchange(gradients_not_finite_, not_finite) < not_finite ? left_out_ + 1 : 0;
  const MutexLock lock(rate_mu_);
  if (gave_up()) return;
  counts_.rate_scale = rate_.OnLearned();
  ApplyRate(network);
}

void SafeLearning::RollBack(StagedNetwork& network) {
  NetworkState good = good_.Settle(health_.proven());
  if (!good_.any_proven()) {
    // What it went on from may be bad itself: it is tried once more, if it ever taught anything.
    if (origin_ && (went_back_to_start_ || learned_ == 0)) {
      good = *std::exchange(origin_, std::nullopt);
      good_.Reset(good);
    }
    went_back_to_start_ = true;
  }
  network.Restore(good.layers);
  collector_.Restart();
  health_.Restart();
  ratios_.Restart();
  learned_ = 0;
  not_finite_ = false;
  left_out_ = 0;
  {
    const MutexLock lock(rate_mu_);
    const double share = rate_.OnRollBack();
    counts_.rate_scale = rate_.exhausted() ? 0 : share;
    ApplyRate(network);
  }
  ++counts_.roll_backs;
}

void SafeLearning::SetRateFactor(double factor, StagedNetwork& network) {
  const MutexLock lock(rate_mu_);
  rate_factor_ = factor;
  if (factor > 0) {
    const bool other = std::exchange(last_factor_, factor) != factor;
    if (gave_up()) counts_.rate_scale = rate_.TryAgain(/*whole=*/other);
  }
  ApplyRate(network);
}

double SafeLearning::rate_share() const {
  const MutexLock lock(rate_mu_);
  return rate_.scale();
}

void SafeLearning::ApplyRate(StagedNetwork& network) const {
  network.ScaleLearningRates(counts_.rate_scale * rate_factor_);
}

std::optional<SafeLearning::Kept> SafeLearning::Last(const StagedNetwork& network, bool finished) {
  if (finished && health_.sound() && health_.ratio() <= most_kept_ratio_) {
    NetworkState last{.sample = counts_.last_sample, .layers = network.Save()};
    if (AllFinite(last)) return Kept{.state = std::move(last), .ratio = health_.ratio()};
  }
  if (proven_ratio_ > most_kept_ratio_) return std::nullopt;
  return Kept{.state = good_.Settle(health_.proven()), .ratio = proven_ratio_};
}

}  // namespace millrace::pipeline
