#include "service/commands/plan/cmd_plan.h"

#include <cmath>

#include "base/atomic_file.h"
#include "base/status.h"
#include "service/commands/plan/costs_file.h"
#include "service/commands/plan/plan_drawing.h"
#include "service/commands/plan/plan_json.h"
#include "service/commands/plan/plan_report.h"
#include "service/commands/plan/plan_table.h"
#include "service/terminal/cli_exit_codes.h"

namespace millrace::service {
namespace {

// A network and the request for its plan.
struct Planning {
  pipeline::NetworkProfile network;
  PlanRequest request;
};

std::vector<int> LayersOfStages(const pipeline::Cuts& cuts, int layers) {
  std::vector<int> of_stages;
  int begin = 0;
  for (int cut : cuts) {
    of_stages.push_back(cut - begin);
    begin = cut;
  }
  of_stages.push_back(layers - begin);
  return of_stages;
}

// Options that the command line omits are taken from the model's configuration.
void TakeFromModel(const MeasuredModel& model, const PlanArguments& arguments,
                   PlanRequest& request) {
  const int layers = static_cast<int>(model.costs.layers.size());
  if (!arguments.schedule) request.schedule = model.schedule;
  if (request.period_ms == 0) request.period_ms = model.period_ms;
  const bool open =
      request.devices == 0 && request.layers_of_stages.empty() && request.placement.empty();
  if (!open) return;
  if (model.cuts.empty() || request.schedule == kAutoSchedule) {
    request.devices = request.separate_backwards ? 2 * model.stages - 1 : model.stages;
  } else {
    request.layers_of_stages = LayersOfStages(model.cuts, layers);
  }
}

absl::StatusOr<Planning> PlanningFor(const PlanArguments& arguments, const MeasureModel& measure) {
  if (arguments.costs.empty() == arguments.config.empty()) {
    return absl::InvalidArgumentError(measure ? "give either --costs or --config"
                                              : "give the costs: --costs costs.json");
  }
  Planning planning{.network = {}, .request = arguments.request};
  if (arguments.schedule) planning.request.schedule = *arguments.schedule;
  if (!arguments.costs.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(planning.network, ReadCosts(arguments.costs));
    return planning;
  }
  if (!measure) {
    return absl::InvalidArgumentError("no model can be measured here; use --costs");
  }
  MILLRACE_ASSIGN_OR_RETURN(MeasuredModel model, measure(arguments.config, arguments.stream));
  TakeFromModel(model, arguments, planning.request);
  planning.network = std::move(model.costs);
  return planning;
}

absl::Status CheckArguments(const PlanArguments& arguments) {
  if (!std::isfinite(arguments.request.period_ms)) {
    return absl::InvalidArgumentError("--period-ms must be a number of milliseconds");
  }
  if (arguments.compare && arguments.drawings.any()) {
    return absl::InvalidArgumentError("--svg and --trace draw one --schedule, not --compare");
  }
  if (!arguments.stream.empty() && arguments.config.empty()) {
    return absl::InvalidArgumentError("--stream names a stream of a --config");
  }
  if (!arguments.save_costs.empty() && arguments.config.empty()) {
    return absl::InvalidArgumentError("--save-costs writes what is measured; it needs a --config");
  }
  return CheckDrawings(arguments.drawings, {"--save-costs", arguments.save_costs});
}

absl::StatusOr<std::string> Answer(const PlanArguments& arguments, const MeasureModel& measure) {
  MILLRACE_RETURN_IF_ERROR(CheckArguments(arguments));
  MILLRACE_ASSIGN_OR_RETURN(const Planning planning, PlanningFor(arguments, measure));
  const auto& [network, request] = planning;
  if (!arguments.save_costs.empty()) {
    MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(arguments.save_costs, CostsText(network)));
  }
  if (arguments.compare) {
    MILLRACE_ASSIGN_OR_RETURN(const auto schedules, CompareSchedules(network, request));
    return arguments.json ? CompareJson(network, schedules) : CompareText(schedules);
  }
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<PlanReport> phases,
                            MakePlanReports(network, request));
  MILLRACE_RETURN_IF_ERROR(WriteDrawings(
      arguments.drawings, [&] { return PlanSvg(phases); }, [&] { return PlanTrace(phases); }));
  if (arguments.json) return PlanJson(network, phases);
  std::string text;
  for (const PlanReport& phase : phases) {
    if (!text.empty()) text += "\n";
    text += TextOfPlan(network, phase);
  }
  return text;
}

}  // namespace

int RunPlan(const PlanArguments& arguments, const MeasureModel& measure, std::ostream& out,
            std::ostream& errors) {
  const absl::StatusOr<std::string> answer = Answer(arguments, measure);
  if (!answer.ok()) {
    errors << "millrace plan: " << answer.status().message() << "\n";
    return kExitUsage;
  }
  out << *answer;
  return kExitOk;
}

}  // namespace millrace::service
