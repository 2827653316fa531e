#include "pipeline/safe_learning.h"

#include <cmath>
#include <utility>

namespace millrace::pipeline {

SafeLearning::SafeLearning(const Options& options, std::vector<LayerState> start)
    : decisions_(options.learning),
      good_({.sample = -1, .layers = std::move(start)}),
      collector_(options.copy_every,
                 [this](NetworkState state) { good_.Add(std::move(state), decisions_.proven()); }),
      ratios_({}),
      rate_(options.recover_after) {}

SafeLearning::Verdict SafeLearning::Judge(const ScoredFlow& scored, int learn_from_every,
                                          StagedNetwork& network) {
  Verdict verdict{.skipped = decisions_.Decide(scored, learn_from_every)};
  counts_.rate_scale = rate_.OnSample();
  network.ScaleLearningRates(counts_.rate_scale);
  const bool still = verdict.skipped == SkipReason::kRepeated ||
                     verdict.skipped == SkipReason::kFrozen || verdict.skipped == SkipReason::kCut;
  const double ratio = scored.loss / scored.loss_no_motion;
  if (still || !std::isfinite(ratio)) return verdict;
  const auto change = ratios_.Add(ratio);
  verdict.drift = change && change->after > change->before;
  counts_.drifts += verdict.drift ? 1 : 0;
  return verdict;
}

void SafeLearning::RollBack(StagedNetwork& network) {
  network.Restore(good_.Newest().layers);
  good_.Forget();
  collector_.Restart();
  decisions_.Restart();
  counts_.rate_scale = rate_.OnRollBack();
  network.ScaleLearningRates(counts_.rate_scale);
  ++counts_.roll_backs;
}

}  // namespace millrace::pipeline
