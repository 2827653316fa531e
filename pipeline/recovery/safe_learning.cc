#include "pipeline/recovery/safe_learning.h"

#include <cmath>
#include <utility>

namespace millrace::pipeline {

namespace {

// A limit for GoodState::ratio. Above it, weights may serve a roll-back, but no model at all is
// better.
constexpr double kMostKeptRatio = 1;

// The number of states until the oldest has proven good, if every sample gives information about
// the weights. Includes the length of the pipeline.
std::size_t MostUnproven(const SafeLearning::Options& options) {
  return static_cast<std::size_t>(options.divergence.window / options.copy_every + 3);
}

}  // namespace

SafeLearning::SafeLearning(const Options& options, Start start)
    : most_left_out_(options.divergence.most_refused),
      on_good_(options.on_good),
      detector_(options.divergence),
      good_(std::move(start.state), MostUnproven(options)),
      collector_(options.copy_every, [this](NetworkState state) { OnCopy(std::move(state)); }),
      origin_(std::move(start.origin)),
      rate_(options.recover_after, start.rate_scale) {
  counts_.rate_scale = start.rate_scale;
}

void SafeLearning::OnCopy(NetworkState state) {
  // Updates cannot cause this (Optimizer::Step()), but a user's own layer may.
  if (!good_.Add(std::move(state))) not_finite_ = true;
}

void SafeLearning::TakeProven() {
  const std::int64_t proven = detector_.proven();
  if (std::exchange(proven_, proven) == proven) return;
  const std::optional<GoodState> good = good_.Prove(proven, detector_.ratio());
  if (good && on_good_ && good->ratio <= kMostKeptRatio) on_good_(*good);
}

bool SafeLearning::OnJudged(const Judged& judged, StagedNetwork& network) {
  counts_.last_sample = judged.sample;
  TakeProven();
  if (judged.learned) OnLearned(network);
  if (!judged.ratio || !std::isfinite(*judged.ratio)) return false;
  const auto change = ratios_.Add(*judged.ratio);
  const bool drift = change && change->after > change->before;
  counts_.drifts += drift ? 1 : 0;
  return drift;
}

// The network's count covers the updates up to the sample before; those of this sample come later.
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
  NetworkState good = good_.Settle().state;
  if (!good_.any_proven()) {
    // The resumed weights may be bad themselves. They get a second try only if the network has
    // learned from a sample since.
    if (origin_ && (went_back_to_start_ || learned_ == 0)) {
      good = *std::exchange(origin_, std::nullopt);
      good_.Reset(good);
    }
    went_back_to_start_ = true;
  }
  network.Restore(good.layers);
  collector_.Restart();
  detector_.Restart();
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

std::optional<GoodState> SafeLearning::Last(const StagedNetwork& network, bool finished) {
  if (finished && detector_.sound() && detector_.ratio() <= kMostKeptRatio) {
    NetworkState last{.sample = counts_.last_sample, .layers = network.Save()};
    if (AllFinite(last)) return GoodState{.state = std::move(last), .ratio = detector_.ratio()};
  }
  GoodState good = good_.Settle();
  return good.ratio <= kMostKeptRatio ? std::optional(std::move(good)) : std::nullopt;
}

}  // namespace millrace::pipeline
