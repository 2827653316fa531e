#include "pipeline/schedules/building_blocks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {

using enum OperationKind;

// The camera hands a sample over after the first stage has read the one before. A frame should wait
// where a newer frame can still replace it.
std::vector<Channel> ChannelsOf(const PipelineShape& shape) {
  std::vector<Channel> channels = {{.from = 0, .to = 1, .slots = 1}};
  const auto add = [&channels](int from, int to) {
    const int cuts = to - from;
    channels.push_back({.from = from, .to = to, .slots = 2 * cuts, .gradient_slots = 2 * cuts + 1});
  };
  for (int stage = 1; stage < shape.stages; ++stage) add(stage, stage + 1);
  for (const StageSkip& skip : shape.skips) add(skip.from, skip.to);
  if (shape.stages > 1) add(0, shape.stages);
  return channels;
}

Plan OneDeviceAStage(std::string schedule, const PipelineShape& shape,
                     const std::vector<StageTiming>& timings) {
  Plan plan{
      .schedule = std::move(schedule), .stages = {}, .channels = ChannelsOf(shape), .devices = {}};
  for (int stage = 1; stage <= shape.stages; ++stage) {
    const StageTiming& timing = timings[stage - 1];
    plan.stages.push_back(timing.rules);
    const bool splits = timing.rules.splits_backward;
    const int shift = splits ? timing.weight_gradient_shift : timing.backward_shift;
    std::vector<Operation>& order = plan.devices.emplace_back();
    order.push_back({.kind = kForward, .stage = stage, .shift = timing.forward_shift});
    if (splits) order.push_back({.kind = kWeightGradient, .stage = stage, .shift = shift});
    order.push_back({.kind = kUpdate, .stage = stage, .shift = shift});
    const auto behind = shift > timing.backward_shift ? order.end() : order.begin() + 1;
    order.insert(behind, {.kind = kBackward,
                          .stage = stage,
                          .shift = timing.backward_shift,
                          .keeps = timing.keeps,
                          .weights = timing.backward_weights});
  }
  return plan;
}

std::vector<Operation> OrderBySlots(std::vector<Slotted> operations, int slots) {
  const auto shift = [slots](int slot) {
    return slot >= 0 ? slot / slots : -((slots - 1 - slot) / slots);
  };
  std::stable_sort(operations.begin(), operations.end(), [&](const auto& a, const auto& b) {
    return a.slot - shift(a.slot) * slots < b.slot - shift(b.slot) * slots;
  });
  std::vector<Operation> order;
  order.reserve(operations.size());
  for (Slotted& slotted : operations) {
    slotted.operation.shift = shift(slotted.slot);
    order.push_back(slotted.operation);
  }
  return order;
}

void SplitBackwards(Plan& plan) {
  for (StageRules& rules : plan.stages) rules.splits_backward = true;
  for (std::vector<Operation>& order : plan.devices) {
    std::vector<Operation> split;
    for (const Operation& operation : order) {
      split.push_back(operation);
      if (operation.kind != kBackward) continue;
      split.push_back({.kind = kWeightGradient,
                       .stage = operation.stage,
                       .first = operation.first,
                       .count = operation.count,
                       .shift = operation.shift});
    }
    order = std::move(split);
  }
}

void SizeStages(Plan& plan) {
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    const StageFigures figures = WalkStage(plan, stage);
    StageRules& rules = plan.stages[stage - 1];
    rules.slots = std::max(1, figures.ring);
    rules.versions = figures.versions;
  }
}

absl::Status CheckOption(std::string_view schedule, std::string_view option, int value, int min,
                         int max) {
  if (min <= value && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("schedule ", std::string(schedule), ": ",
                                                 std::string(option), " is ", value,
                                                 "; it must be ", min, " to ", max));
}

}  // namespace millrace::pipeline
