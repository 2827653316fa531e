#include "pipeline/plan_checker.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/simulator.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

template <typename... Parts>
absl::Status Wrong(const Plan& plan, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("plan \"", plan.schedule, "\": ", parts...));
}

absl::Status CheckChannels(const Plan& plan) {
  for (const Channel& channel : plan.channels) {
    if (channel.from < 0 || channel.from >= channel.to || channel.to > plan.stage_count()) {
      return Wrong(plan, "a channel goes from stage ", channel.from, " to ", channel.to,
                   "; it must go from an earlier stage (0 is the camera) to one of 1 to ",
                   plan.stage_count());
    }
    if (channel.slots < 1 || channel.gradient_slots < 1) {
      return Wrong(plan, "the channel from stage ", channel.from, " to ", channel.to,
                   " needs at least one slot");
    }
  }
  for (int stage = 0; stage < plan.stage_count(); ++stage) {
    const bool joined =
        std::any_of(plan.channels.begin(), plan.channels.end(),
                    [stage](const Channel& c) { return c.from == stage && c.to == stage + 1; });
    if (!joined) return Wrong(plan, "no channel joins stage ", stage, " and stage ", stage + 1);
  }
  return absl::OkStatus();
}

absl::Status CheckRanges(const Plan& plan, const Operation& operation) {
  if (operation.stage < 1 || operation.stage > plan.stage_count()) {
    return Wrong(plan, "an operation names stage ", operation.stage, " of ", plan.stage_count());
  }
  if (operation.first < 0 || operation.count < 1 || operation.shift < 0 ||
      operation.first + operation.count > plan.samples_per_pattern) {
    return Wrong(plan, "an operation of stage ", operation.stage,
                 " covers samples outside its pattern of ", plan.samples_per_pattern);
  }
  return absl::OkStatus();
}

// Updates work in place, so whatever reads a stage's weights must be in order with them: one
// device.
absl::Status CheckOneDeviceAStage(const Plan& plan) {
  std::map<int, std::size_t> device_of;
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (const Operation& operation : plan.devices[device]) {
      MILLRACE_RETURN_IF_ERROR(CheckRanges(plan, operation));
      if (!device_of.emplace(operation.stage, device).second &&
          device_of[operation.stage] != device) {
        return Wrong(plan, "stage ", operation.stage, " is on devices ", device_of[operation.stage],
                     " and ", device, "; a stage has one device");
      }
    }
  }
  return absl::OkStatus();
}

int MaxShift(const Plan& plan) {
  int shift = 0;
  for (const auto& order : plan.devices) {
    for (const Operation& operation : order) shift = std::max(shift, operation.shift);
  }
  return shift;
}

// One stage's operations in the order of its device, over enough periods to be steady.
std::vector<Step> StepsOf(const Plan& plan, int stage) {
  const int lead = plan.rules(stage).lead;
  const int periods = 2 * MaxShift(plan) + lead + 4;
  std::vector<Step> steps;
  for (const auto& order : plan.devices) {
    for (int period = 0; period < periods; ++period) {
      for (const Operation& operation : order) {
        const Step step = StepOf(plan, operation, period);
        if (step.stage == stage && step.first >= 0) steps.push_back(step);
      }
    }
  }
  return steps;
}

absl::Status CheckEverySampleOnce(const Plan& plan, int stage, const std::vector<Step>& steps) {
  std::array<std::int64_t, kOperationKinds> next{};
  for (const Step& step : steps) {
    std::int64_t& expected = next[static_cast<int>(step.kind)];
    if (step.first != expected) {
      return Wrong(plan, ToString(step), " comes where sample ", expected, " is due");
    }
    expected = step.last + 1;
  }
  for (std::int64_t count : next) {
    if (count == 0) return Wrong(plan, "stage ", stage, " lacks a forward, backward or update");
  }
  return absl::OkStatus();
}

// Walks one stage's order and notes what each backward meets.
class StageWalk {
 public:
  StageWalk(int lead, const std::vector<Step>& steps) : lead_(lead) {
    for (const Step& step : steps) {
      for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
        Visit(step.kind, sample);
      }
      if (step.kind == kUpdate) ++updates_;
    }
    figures_.mismatch = lead;
  }

  [[nodiscard]] const StageFigures& figures() const { return figures_; }

 private:
  void Visit(OperationKind kind, std::int64_t sample) {
    if (kind == kForward) {
      at_forward_[sample] = updates_;
      if (sample >= lead_) alive_.insert(sample);
      figures_.slots = std::max(figures_.slots, static_cast<int>(alive_.size()));
    } else if (kind == kBackward) {
      at_backward_[sample] = updates_;
      alive_.erase(sample + lead_);
      Raise(figures_.staleness, updates_ - at_forward_[sample]);
      if (at_forward_.contains(sample + lead_)) {
        Raise(figures_.weight_gap, updates_ - at_forward_[sample + lead_]);
      }
    } else {
      Raise(figures_.gradient_age, updates_ - at_backward_[sample]);
    }
  }

  static void Raise(int& figure, int value) { figure = std::max(figure, value); }

  const std::int64_t lead_;
  int updates_ = 0;
  std::map<std::int64_t, int> at_forward_;
  std::map<std::int64_t, int> at_backward_;
  std::set<std::int64_t> alive_;
  StageFigures figures_;
};

absl::Status CheckNoStandstill(const Plan& plan) {
  const std::vector<StageCost> costs(plan.stage_count(),
                                     {.forward = 1, .backward = 2, .update = 1});
  const int samples = plan.samples_per_pattern * (4 * (MaxShift(plan) + 2));
  const absl::StatusOr<Timeline> timeline =
      Simulate(plan, costs, std::vector<double>(samples, 0.0));
  if (timeline.ok()) return absl::OkStatus();
  return Wrong(plan, std::string(timeline.status().message()));
}

absl::StatusOr<StageFigures> CheckStage(const Plan& plan, int stage) {
  const StageRules& rules = plan.rules(stage);
  if (rules.lead < 0) return Wrong(plan, "stage ", stage, " has a negative lead");
  const std::vector<Step> steps = StepsOf(plan, stage);
  MILLRACE_RETURN_IF_ERROR(CheckEverySampleOnce(plan, stage, steps));
  const StageFigures figures = StageWalk(rules.lead, steps).figures();
  if (rules.slots < figures.slots) {
    return Wrong(plan, "stage ", stage, " has ", rules.slots, " slots for activations and needs ",
                 figures.slots);
  }
  return figures;
}

}  // namespace

absl::StatusOr<std::vector<StageFigures>> CheckPlan(const Plan& plan) {
  if (plan.stages.empty()) return Wrong(plan, "there are no stages");
  if (plan.samples_per_pattern < 1) return Wrong(plan, "a pattern has at least one sample");
  MILLRACE_RETURN_IF_ERROR(CheckChannels(plan));
  MILLRACE_RETURN_IF_ERROR(CheckOneDeviceAStage(plan));
  std::vector<StageFigures> figures;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    MILLRACE_ASSIGN_OR_RETURN(StageFigures of_stage, CheckStage(plan, stage));
    figures.push_back(of_stage);
  }
  MILLRACE_RETURN_IF_ERROR(CheckNoStandstill(plan));
  return figures;
}

}  // namespace millrace::pipeline
