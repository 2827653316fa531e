#include "pipeline/schedules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// What a stage waits for until it may start a sample is a slot, two for every cut that a channel
// crosses. The camera hands a sample over when the first stage has read the one before: a frame
// that waits should wait where a fresher one can still replace it.
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

// When a stage runs, in patterns behind the newest, and what it keeps.
struct StageTiming {
  int forward_shift = 0;
  int backward_shift = 0;
  StageRules rules;
};

// A plan in which each stage has a device of its own and does F, B, U in every period.
Plan OneDeviceAStage(std::string schedule, const PipelineShape& shape,
                     const std::vector<StageTiming>& timings) {
  Plan plan{
      .schedule = std::move(schedule), .stages = {}, .channels = ChannelsOf(shape), .devices = {}};
  for (int stage = 1; stage <= shape.stages; ++stage) {
    const StageTiming& timing = timings[stage - 1];
    plan.stages.push_back(timing.rules);
    plan.devices.push_back({{.kind = kForward, .stage = stage, .shift = timing.forward_shift},
                            {.kind = kBackward, .stage = stage, .shift = timing.backward_shift},
                            {.kind = kUpdate, .stage = stage, .shift = timing.backward_shift}});
  }
  return plan;
}

// The group of each stage, counted from the camera. Groups are made from the last stage backwards.
std::vector<int> GroupsThatFit(const std::vector<StageCost>& costs, double period) {
  std::vector<int> from_the_end(costs.size());
  int group = 0;
  double forwards_and_backwards = 0;
  for (int i = static_cast<int>(costs.size()) - 1; i >= 0; --i) {
    const double alone = costs[i].forward + costs[i].backward;
    const bool fits = forwards_and_backwards + alone + costs[i].update <= period;
    if (!fits && forwards_and_backwards > 0) {
      ++group;
      forwards_and_backwards = 0;
    }
    forwards_and_backwards += alone;
    from_the_end[i] = group;
  }
  for (int& g : from_the_end) g = group - g;
  return from_the_end;
}

}  // namespace

Plan Sequential(const PipelineShape& shape) {
  return OneDeviceAStage("sequential", shape, std::vector<StageTiming>(shape.stages));
}

Plan Partime(const PipelineShape& shape) {
  std::vector<StageTiming> timings;
  for (int stage = 1; stage <= shape.stages; ++stage) {
    const int lead = 2 * (shape.stages - stage);
    timings.push_back({.forward_shift = stage - 1,
                       .backward_shift = stage - 1 + lead,
                       .rules = {.lead = lead, .slots = 1}});
  }
  return OneDeviceAStage("partime", shape, timings);
}

Plan OneFOneBStar(const PipelineShape& shape, const std::vector<StageCost>& costs, double period) {
  MILLRACE_CHECK(static_cast<int>(costs.size()) == shape.stages);
  const std::vector<int> groups = GroupsThatFit(costs, period);
  std::vector<StageTiming> timings;
  for (int group : groups) {
    const int lag = groups.back() - group;
    timings.push_back({.forward_shift = group,
                       .backward_shift = groups.back(),
                       .rules = {.lead = 0, .slots = lag + 1}});
  }
  return OneDeviceAStage("one_f_one_b_star", shape, timings);
}

double LeastPeriod(const std::vector<StageCost>& costs) {
  double least = 0;
  for (const StageCost& cost : costs) least = std::max(least, cost.total());
  return least;
}

const std::vector<std::string>& ScheduleNames() {
  static const std::vector<std::string> names = {"sequential", "partime", "one_f_one_b_star"};
  return names;
}

absl::StatusOr<Plan> MakePlan(const std::string& name, const PipelineShape& shape,
                              const std::vector<StageCost>& costs, double period) {
  if (name == "sequential") return Sequential(shape);
  if (name == "partime") return Partime(shape);
  if (name == "one_f_one_b_star") {
    return OneFOneBStar(shape, costs, period > 0 ? period : LeastPeriod(costs));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no schedule \"", name, "\"; use one of: ", absl::StrJoin(ScheduleNames(), ", ")));
}

}  // namespace millrace::pipeline
