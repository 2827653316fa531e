#include "pipeline/safe_learning.h"

#include <cmath>
#include <utility>

namespace millrace::pipeline {

namespace {

// So many that the oldest has had the time to prove good, with a pipeline's length to spare.
std::size_t MostUnproven(const SafeLearning::Options& options) {
  return static_cast<std::size_t>(options.learning.divergence.window / options.copy_every + 3);
}

}  // namespace

SafeLearning::SafeLearning(const Options& options, Start start)
    : on_good_(options.on_good),
      decisions_(options.learning),
      good_(std::move(start.state), MostUnproven(options)),
      collector_(options.copy_every, [this](NetworkState state) { OnCopy(std::move(state)); }),
      origin_(std::move(start.origin)),
      ratios_({}),
      rate_(options.recover_after, start.before.rate_scale) {
  counts_.roll_backs = start.before.roll_backs;
  counts_.drifts = start.before.drifts;
  counts_.rate_scale = start.before.rate_scale;
}

void SafeLearning::OnCopy(NetworkState state) {
  const std::optional<NetworkState> good = good_.Add(std::move(state), decisions_.proven());
  if (good && on_good_) on_good_(*good);
}

SafeLearning::Verdict SafeLearning::Judge(const ScoredFlow& scored, int learn_from_every,
                                          StagedNetwork& network) {
  Verdict verdict{.skipped = decisions_.Decide(scored, learn_from_every)};
  counts_.last_sample = scored.sample;
  if (verdict.skipped == SkipReason::kNone) {
    ++learned_;
    counts_.rate_scale = rate_.OnLearned();
    network.ScaleLearningRates(counts_.rate_scale);
  }
  // Still pictures and cuts say nothing of the camera, and weights that went wrong neither.
  const bool says_something = verdict.skipped == SkipReason::kNone ||
                              verdict.skipped == SkipReason::kRate ||
                              verdict.skipped == SkipReason::kPolicy;
  const double ratio = scored.loss / scored.loss_no_motion;
  if (!says_something || !std::isfinite(ratio)) return verdict;
  const auto change = ratios_.Add(ratio);
  verdict.drift = change && change->after > change->before;
  counts_.drifts += verdict.drift ? 1 : 0;
  return verdict;
}

void SafeLearning::RollBack(StagedNetwork& network) {
  if (learned_ == 0) {
    // What it went on from is bad itself.
    good_.Reset(*std::exchange(origin_, std::nullopt));
  }
  network.Restore(good_.Settle(decisions_.proven()).layers);
  collector_.Restart();
  decisions_.Restart();
  ratios_.Restart();
  learned_ = 0;
  counts_.rate_scale = rate_.OnRollBack();
  network.ScaleLearningRates(counts_.rate_scale);
  ++counts_.roll_backs;
}

NetworkState SafeLearning::Last(const StagedNetwork& network) {
  NetworkState last{.sample = counts_.last_sample, .layers = network.Save()};
  if (!decisions_.suspicious() && AllFinite(last)) return last;
  return good_.Settle(decisions_.proven());
}

}  // namespace millrace::pipeline
