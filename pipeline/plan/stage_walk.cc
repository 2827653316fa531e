#include "pipeline/plan/stage_walk.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "pipeline/plan/plan_cursor.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

class StageWalk {
 public:
  StageWalk(const Plan& plan, int stage) : plan_(plan), rules_(plan.rules(stage)) {}

  void Visit(const PlanCursor& at) {
    const Operation& operation = at.operation();
    const Step step = at.step();
    if (operation.kind == kUpdate) {
      Update(step);
      return;
    }
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      const std::int64_t version = VersionOf(operation, sample, at.pattern());
      if (operation.kind == kForward) Forward(sample, version);
      if (operation.kind == kBackward) Backward(operation, sample, version);
      if (operation.kind == plan_.LastOfBackward(step.stage)) alive_.erase(sample + rules_.lead);
    }
  }

  [[nodiscard]] const StageFigures& figures() const { return figures_; }

 private:
  [[nodiscard]] std::int64_t VersionOf(const Operation& operation, std::int64_t sample,
                                       std::int64_t pattern) const {
    switch (operation.weights.which) {
      case WeightsRead::Which::kForward:
        return made_by_.contains(sample) ? made_by_.at(sample) : updates_;
      case WeightsRead::Which::kLag:
        return std::max<std::int64_t>(pattern - operation.weights.lag, 0);
      case WeightsRead::Which::kCurrent:
        break;
    }
    return updates_;
  }

  void Forward(std::int64_t sample, std::int64_t version) {
    made_by_[sample] = version;
    updates_at_forward_[sample] = updates_;
    if (sample >= rules_.lead) {
      alive_.insert(sample);
      Raise(figures_.ring, sample - *alive_.begin() + 1);
    }
    Raise(figures_.slots, static_cast<std::int64_t>(alive_.size()));
    Raise(figures_.versions, updates_ - version + 1);
  }

  void Backward(const Operation& operation, std::int64_t sample, std::int64_t version) {
    const std::int64_t activations = sample + rules_.lead;
    met_[sample] = version;
    Raise(figures_.staleness, updates_ - updates_at_forward_[sample]);
    Raise(figures_.versions, updates_ - version + 1);
    if (operation.keeps == Keeps::kActivations && made_by_.contains(activations)) {
      Raise(figures_.weight_gap, version - made_by_[activations]);
    }
  }

  void Update(const Step& step) {
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      Raise(figures_.gradient_age, updates_ - met_[sample]);
    }
    ++updates_;
  }

  static void Raise(int& figure, std::int64_t value) {
    figure = std::max(figure, static_cast<int>(value));
  }

  const Plan& plan_;
  const StageRules& rules_;
  StageFigures figures_;
  std::int64_t updates_ = 0;
  std::map<std::int64_t, std::int64_t> made_by_;             // Version that a forward read.
  std::map<std::int64_t, std::int64_t> met_;                 // Version that a backward read.
  std::map<std::int64_t, std::int64_t> updates_at_forward_;  // Updates done before it.
  std::set<std::int64_t> alive_;
};

bool LearnsByMiniBatch(const Plan& plan, int stage) {
  const Operation* update = nullptr;
  for (const auto& order : plan.devices) {
    for (const Operation& operation : order) {
      if (operation.stage != stage) continue;
      // Another operation follows an update: a second update, or work on the next pattern.
      if (update != nullptr) return false;
      if (operation.kind == OperationKind::kUpdate) update = &operation;
    }
  }
  if (update == nullptr || update->count < 2 || update->count != plan.samples_per_pattern) {
    return false;
  }
  return std::none_of(plan.devices.begin(), plan.devices.end(), [&](const auto& order) {
    return std::any_of(order.begin(), order.end(), [&](const Operation& operation) {
      return operation.stage == stage && operation.shift != update->shift;
    });
  });
}

}  // namespace

int MaxShift(const Plan& plan) {
  int shift = 0;
  for (const auto& order : plan.devices) {
    for (const Operation& operation : order) shift = std::max(shift, operation.shift);
  }
  return shift;
}

bool LearnsByMiniBatch(const Plan& plan) {
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    if (!LearnsByMiniBatch(plan, stage)) return false;
  }
  return true;
}

// If a stage has two devices, its forwards come first in each period, as in lock-step.
StageFigures WalkStage(const Plan& plan, int stage) {
  const int lead_patterns = plan.rules(stage).lead / plan.samples_per_pattern;
  const int periods = 2 * MaxShift(plan) + lead_patterns + 4;
  StageWalk walk(plan, stage);
  std::vector<PlanCursor> cursors = CursorsOf(plan);
  for (int period = 0; period < periods; ++period) {
    for (PlanCursor& at : cursors) {
      for (; at.period() == period; at.Next()) {
        if (at.operation().stage == stage && !at.filling()) walk.Visit(at);
      }
    }
  }
  StageFigures figures = walk.figures();
  figures.mismatch = plan.rules(stage).lead;
  return figures;
}

}  // namespace millrace::pipeline
