#include "service/cmd_plan.h"

#include "base/atomic_file.h"
#include "base/status.h"
#include "service/cli_exit_codes.h"
#include "service/costs_file.h"
#include "service/plan_drawing.h"
#include "service/plan_json.h"
#include "service/plan_report.h"
#include "service/plan_table.h"

namespace millrace::service {
namespace {

absl::StatusOr<pipeline::NetworkCosts> CostsFor(const PlanArguments& arguments,
                                                const ProfileModel& profile) {
  if (arguments.costs.empty() == arguments.config.empty()) {
    return absl::InvalidArgumentError(profile ? "give either --costs or --config"
                                              : "give the costs: --costs costs.json");
  }
  if (!arguments.costs.empty()) return ReadCosts(arguments.costs);
  if (profile) return profile(arguments.config);
  return absl::InvalidArgumentError("no model can be measured here; use --costs");
}

absl::Status CheckArguments(const PlanArguments& arguments) {
  if (arguments.compare && (!arguments.svg.empty() || !arguments.trace.empty())) {
    return absl::InvalidArgumentError("--svg and --trace draw one --schedule, not --compare");
  }
  return absl::OkStatus();
}

absl::Status WriteDrawings(const PlanArguments& arguments, const std::vector<PlanReport>& phases) {
  if (!arguments.svg.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(const std::string svg, PlanSvg(phases));
    MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(arguments.svg, svg));
  }
  if (!arguments.trace.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(const std::string trace, PlanTrace(phases));
    MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(arguments.trace, trace));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Answer(const PlanArguments& arguments, const ProfileModel& profile) {
  MILLRACE_RETURN_IF_ERROR(CheckArguments(arguments));
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::NetworkCosts network, CostsFor(arguments, profile));
  if (arguments.compare) {
    return arguments.json ? CompareJson(network, arguments.request)
                          : CompareText(network, arguments.request);
  }
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<PlanReport> phases,
                            MakePlanReports(network, arguments.request));
  MILLRACE_RETURN_IF_ERROR(WriteDrawings(arguments, phases));
  if (arguments.json) return PlanJson(network, phases);
  std::string text;
  for (const PlanReport& phase : phases) {
    if (!text.empty()) text += "\n";
    text += PlanText(network, phase);
  }
  return text;
}

}  // namespace

int RunPlan(const PlanArguments& arguments, const ProfileModel& profile, std::ostream& out,
            std::ostream& errors) {
  const absl::StatusOr<std::string> answer = Answer(arguments, profile);
  if (!answer.ok()) {
    errors << "millrace plan: " << answer.status().message() << "\n";
    return kExitUsage;
  }
  out << *answer;
  return kExitOk;
}

}  // namespace millrace::service
