#include "service/commands/plan/plan_auto.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/planner/planner.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

using pipeline::NetworkProfile;
using pipeline::PlannedPipeline;

constexpr double kUsualSpread = 0.1;
constexpr int kUsualDevices = 2;

absl::Status CheckAuto(const NetworkProfile& network, const PlanRequest& request) {
  if (!(request.period_ms > 0)) {
    return absl::InvalidArgumentError(
        "--schedule auto needs --period-ms, the time between two frames of the camera: 40 for 25 "
        "a second");
  }
  if (!request.layers_of_stages.empty() || !request.placement.empty()) {
    return absl::InvalidArgumentError(
        "--schedule auto makes the cuts itself; leave out --stages and --placement, and give "
        "--devices");
  }
  const int layers = static_cast<int>(network.layers.size());
  if (request.devices <= layers) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--devices is ", request.devices, layers == 1 ? ", but there is " : ", but there are ",
      Plural(layers, "layer"), "; ask for 1 to ", layers));
}

double SpreadOf(const NetworkProfile& network, const PlanRequest& request) {
  return request.spread.value_or(network.spread.value_or(kUsualSpread));
}

absl::StatusOr<PlannedPipeline> Plan(const NetworkProfile& network, const PlanRequest& request) {
  const int layers = static_cast<int>(network.layers.size());
  return pipeline::PlanFor(
      {.layers = network.layers,
       .memory_bytes = network.memory_bytes,
       .interval = request.period_ms,
       .devices = request.devices > 0 ? request.devices : std::min(kUsualDevices, layers),
       .spread = SpreadOf(network, request)});
}

// The mean costs at `effort`: a sample without an update costs no backward and no update.
NetworkProfile NetworkAt(NetworkProfile network, const pipeline::Effort& effort) {
  network.layers = AtEffort(std::move(network.layers), effort);
  return network;
}

std::string LearningText(const FoundPlan& found) {
  if (found.update_every == 0) return "none: there is only time to predict";
  if (found.update_every == 1) return "from every sample";
  return absl::StrCat("from one sample in ", found.update_every,
                      ", the others are only predicted; period, loads and idle are means of both");
}

std::string FramesText(const FoundPlan& found) {
  const std::string rate = absl::StrCat("one every ", NumberText(found.interval_ms), " ms ");
  const std::string drops = absl::StrFormat("%.2g %%", 100 * found.dropped_share);
  const std::string expect =
      absl::StrCat("with costs that spread by ", NumberText(100 * found.spread), " %: ", drops,
                   " dropped, ", NumberText(found.mean_delay_ms), " ms to the prediction");
  return absl::StrCat(rate, found.holds ? "holds, " : "is too fast, ", expect);
}

std::string TText(const FoundPlan& found) {
  if (found.t_ms > 0) {
    return absl::StrCat(NumberText(found.t_ms), " ms, which the groups of stages fit");
  }
  return "none: every stage is a group of its own";
}

}  // namespace

absl::StatusOr<PlanReport> FindPlan(const NetworkProfile& network, const PlanRequest& request) {
  MILLRACE_RETURN_IF_ERROR(CheckAuto(network, request));
  MILLRACE_ASSIGN_OR_RETURN(PlannedPipeline planned, Plan(network, request));
  MILLRACE_ASSIGN_OR_RETURN(PlanReport report,
                            ReportOf(NetworkAt(network, planned.effort), request,
                                     {.cuts = std::move(planned.cuts)}, {.plan = planned.plan}));
  report.schedule = planned.plan.schedule;
  report.found = {.interval_ms = request.period_ms,
                  .spread = SpreadOf(network, request),
                  .t_ms = planned.period,
                  .update_every = planned.effort.update_every,
                  .holds = planned.holds,
                  .dropped_share = planned.dropped_share,
                  .mean_delay_ms = planned.mean_delay,
                  .limit = std::move(planned.limit)};
  return report;
}

std::string FoundText(const FoundPlan& found, int max_staleness) {
  std::string text;
  const auto line = [&text](const char* name, const std::string& what) {
    absl::StrAppendFormat(&text, "%-12s%s\n", name, what);
  };
  line("frames", FramesText(found));
  line("learning", LearningText(found));
  line("staleness", absl::StrCat(Plural(max_staleness, "update"), " at most"));
  line("T", TText(found));
  line("limit", found.limit);
  return text;
}

}  // namespace millrace::service
