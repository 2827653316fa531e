#include "pipeline/stages/planned_chain.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "pipeline/planner/partition.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

// A busy start-up measures more spread than the later run has; real drops adapt the plan later.
constexpr double kUsualSpread = 0.1;
constexpr double kMaxSpread = 0.25;

}  // namespace

absl::Status CheckRate(const LearnerOptions& options) {
  if (options.schedule == "auto" && !(options.frames_per_second > 0)) {
    return absl::InvalidArgumentError(
        "the schedule auto plans for a frame rate: say the camera's frames_per_second");
  }
  if (!(options.replan_share >= 0)) {
    return absl::InvalidArgumentError(
        "the share by which costs must move to plan again must not be negative; 0: never");
  }
  return absl::OkStatus();
}

absl::StatusOr<PlannedChain> PlanForTheRate(const LayerChain& chain, const LearnerOptions& options,
                                            const NetworkProfile& profile,
                                            const std::stop_token& stop) {
  const bool over_hosts = !options.rank_of_stage.empty() && options.rank_of_stage.front() > 0;
  PlannerRequest request{
      .layers = profile.layers,
      .skips_of = [&chain](const Cuts& cuts) { return ShapeOf(chain, cuts).skips; },
      .interval = 1000 / options.frames_per_second,
      .devices = over_hosts ? static_cast<int>(options.rank_of_stage.size()) : options.stages,
      .uses_all = over_hosts,
      .spread = std::min(profile.spread.value_or(kUsualSpread), kMaxSpread),
      .stop = stop};
  MILLRACE_ASSIGN_OR_RETURN(PlannedPipeline found, PlanFor(request));
  PlannedChain planned{.cuts = found.cuts,
                       .phases = {{.plan = found.plan}},
                       .costs = StageCosts(CostsOf(profile.layers), found.cuts)};
  planned.for_a_rate = {.frames_per_second = options.frames_per_second,
                        .request = std::move(request),
                        .found = std::move(found)};
  return planned;
}

}  // namespace millrace::pipeline
