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
    : on_good_(options.on_good),
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
  const std::optional<NetworkState> good = good_.Add(std::move(state), health_.proven());
  if (good && on_good_) on_good_(*good);
}

bool SafeLearning::OnJudged(const Judged& judged, StagedNetwork& network) {
  counts_.last_sample = judged.sample;
  if (judged.learned) {
    ++learned_;
    const MutexLock lock(rate_mu_);
    counts_.rate_scale = rate_.OnLearned();
    ApplyRate(network);
  }
  if (!judged.ratio || !std::isfinite(*judged.ratio)) return false;
  const auto change = ratios_.Add(*judged.ratio);
  const bool drift = change && change->after > change->before;
  counts_.drifts += drift ? 1 : 0;
  return drift;
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
  {
    const MutexLock lock(rate_mu_);
    counts_.rate_scale = rate_.OnRollBack();
    ApplyRate(network);
  }
  ++counts_.roll_backs;
}

void SafeLearning::SetRateFactor(double factor, StagedNetwork& network) {
  const MutexLock lock(rate_mu_);
  rate_factor_ = factor;
  ApplyRate(network);
}

void SafeLearning::ApplyRate(StagedNetwork& network) const {
  network.ScaleLearningRates(counts_.rate_scale * rate_factor_);
}

NetworkState SafeLearning::Last(const StagedNetwork& network, bool finished) {
  if (finished && health_.sound()) {
    NetworkState last{.sample = counts_.last_sample, .layers = network.Save()};
    if (AllFinite(last)) return last;
  }
  return good_.Settle(health_.proven());
}

}  // namespace millrace::pipeline
