#include "pipeline/staged_network.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "pipeline/stage_walk.h"

namespace millrace::pipeline {

std::vector<Stage> CutIntoStages(const LayerChain& chain, const Cuts& cuts) {
  const int layers = static_cast<int>(chain.layers.size());
  std::vector<Stage> stages;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const int first = i == 0 ? 0 : cuts[i - 1];
    const int last = (i == cuts.size() ? layers : cuts[i]) - 1;
    stages.emplace_back(chain, first, last);
  }
  return stages;
}

PipelineShape ShapeOf(const LayerChain& chain, const Cuts& cuts) {
  PipelineShape shape{.stages = static_cast<int>(cuts.size()) + 1, .skips = {}};
  for (const SkipEdge& edge : chain.skips) {
    const StageSkip skip{StageOfLayer(cuts, edge.from), StageOfLayer(cuts, edge.to)};
    const bool known =
        std::any_of(shape.skips.begin(), shape.skips.end(),
                    [&skip](const StageSkip& s) { return s.from == skip.from && s.to == skip.to; });
    // Neighbours have a channel anyway.
    if (skip.to > skip.from + 1 && !known) shape.skips.push_back(skip);
  }
  return shape;
}

StagedNetwork::StagedNetwork(Options options)
    : cuts_(std::move(options.cuts)),
      judge_(std::move(options.judge)),
      local_objective_(std::move(options.local_objective)),
      seed_(options.seed),
      stages_(CutIntoStages(options.chain, cuts_)) {
  MILLRACE_CHECK(options.learning_rates.empty() || options.learning_rates.size() == stages_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    OptimizerOptions own = options.optimizer;
    if (!options.learning_rates.empty()) own.learning_rate = options.learning_rates[i];
    optimizers_.push_back(MakeOptimizer(own, stages_[i].parameters()));
  }
  Begin(std::move(options.plan), 0);
}

void StagedNetwork::Begin(Plan plan, std::int64_t first_sample) {
  at_work_ = std::make_unique<PlanAtWork>(std::move(plan), first_sample);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageFigures figures = WalkStage(at_work_->plan, static_cast<int>(i) + 1);
    optimizers_[i]->set_delay(std::max(figures.staleness, figures.gradient_age));
    const StageRunner::Parts parts{stages_[i],       cuts_,           judge_,
                                   local_objective_, *optimizers_[i], seed_};
    runners_.push_back(std::make_unique<StageRunner>(static_cast<int>(i) + 1, parts, *at_work_));
  }
}

void StagedNetwork::Switch(Plan plan, std::int64_t first_sample) {
  for (const auto& runner : runners_) runner->DropGradients();
  runners_.clear();
  Begin(std::move(plan), first_sample);
}

void StagedNetwork::Admit(std::int64_t sample, const at::Tensor& input) {
  for (const auto& rings : at_work_->channels.all()) {
    if (rings->channel.from == 0) rings->forward.Write(sample, {input});
  }
}

void StagedNetwork::Run(const Step& step) { runners_.at(step.stage - 1)->Run(step); }

std::vector<std::int64_t> StagedNetwork::updates() const {
  std::vector<std::int64_t> updates;
  updates.reserve(optimizers_.size());
  for (const auto& optimizer : optimizers_) updates.push_back(optimizer->updates());
  return updates;
}

}  // namespace millrace::pipeline
