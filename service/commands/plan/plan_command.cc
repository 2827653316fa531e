#include "service/commands/plan/plan_command.h"

#include <cmath>
#include <iterator>
#include <map>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "service/commands/plan/costs_file.h"
#include "service/commands/plan/drawing_files.h"
#include "service/commands/plan/link_rate.h"
#include "service/commands/plan/plan_drawing.h"
#include "service/commands/plan/plan_json.h"
#include "service/commands/plan/plan_report.h"
#include "service/commands/plan/plan_table.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_values.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
Costs are a JSON file. Values that are left out are 0, or mean no limit:
  {"layers": [{"name": "conv1", "forward_ms": 1.5, "backward_ms": 3, "update_ms": 0.2,
               "weight_gradient_ms": 1.5, "output_bytes": 4e6, "weight_bytes": 1e3,
               "activation_bytes": 8e6}, ...],
   "copy_gb_per_s": 12, "memory_bytes": 8e9, "spread": 0.1, "input_bytes": 1.5e5,
   "skips": [{"from": 0, "to": 3, "bytes": 1e6}]}
weight_gradient_ms is the part of backward_ms that one_f_one_b_one_w does later.

--schedule auto finds the plan with the least staleness, then the least delay, that holds the
camera's rate although costs vary. The plan must fit into the memory. If there is no such plan, it
learns from fewer samples, then only predicts.

Examples
  millrace plan --costs costs.json --devices 4 --compare
  millrace plan --costs costs.json --stages 3,2,3 --schedule partime --period-ms 40 --svg plan.svg
  millrace plan --costs costs.json --devices 4 --schedule auto --period-ms 40
  millrace plan --costs costs.json --stages-on 1,0 --link 1gbit)";

constexpr char kMeasuredExamples[] = R"(
  millrace plan --config samples/millrace.yaml --schedule auto --period-ms 100
  millrace plan --config samples/millrace.yaml --save-costs costs.json
  millrace plan --config samples/millrace.yaml --schedule one_f_one_b_star --stages-on 1,0 \
    --link 200mbit --link-delay-ms 5)";

void AddScheduleOptions(CLI::App& plan, PlanRequest& request) {
  static const std::map<std::string, pipeline::Recompute> recompute = {
      {"always", pipeline::Recompute::kAlways},
      {"except_last", pipeline::Recompute::kExceptLast},
      {"never", pipeline::Recompute::kNever}};
  plan.add_option("--micro-batches", request.micro_batches,
                  "gpipe, timeprest: micro-batches. pipedream_2bw: samples an update. "
                  "k_periodic: samples a pattern")
      ->check(CLI::PositiveNumber);
  plan.add_option("--recompute", request.recompute,
                  "gpipe: the forwards that run again: always, except_last or never")
      ->transform(CLI::CheckedTransformer(recompute).description(""))
      ->type_name("KIND");
  plan.add_flag("--separate-backwards", request.separate_backwards,
                "stale: backwards on devices of their own, 2K + 1 for K cuts");
  plan.add_option("--switch-at", request.switch_at,
                  "hybrid: the first sample of its sequential phase")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  plan.add_option("--placement", request.placement,
                  "interleaved: the device of each stage, as 0,1,0. Left out: the fastest found")
      ->delimiter(',');
}

void AddHosts(CLI::App& plan, PlanArguments& arguments) {
  plan.add_option("--stages-on", arguments.request.hosts.host_of_stage,
                  "The host of each stage, falling to 0, as 2,1,0: what crosses between hosts")
      ->delimiter(',');
  plan.add_option("--link", arguments.link,
                  "The rate of each host's link, each way, as 1gbit, 2.5Gbit/s, 10Gbps or 125MB/s");
  plan.add_option("--link-delay-ms", arguments.link_delay_ms,
                  "The time of a message from host to host, half of what ping shows. Left out: 0")
      ->check(CLI::Range(0.0, 1e6));
}

void AddMeasuring(CLI::App& plan, PlanArguments& arguments) {
  plan.add_option("-c,--config", arguments.config,
                  "A configuration: its model is measured in place of --costs. Options that are "
                  "left out come from it");
  plan.add_option("--stream", arguments.stream,
                  "The configuration's stream. Left out: the only one");
  plan.add_option("--save-costs", arguments.save_costs,
                  "Write the measured costs to this file, for --costs");
}

absl::StatusOr<std::optional<pipeline::HostLink>> LinkOf(const PlanArguments& arguments) {
  if (arguments.link.empty()) {
    if (!arguments.link_delay_ms) return std::nullopt;
    return absl::InvalidArgumentError("--link-delay-ms needs --link, the link's rate");
  }
  MILLRACE_ASSIGN_OR_RETURN(const double rate, ParseLinkRate(arguments.link, "--link"));
  return pipeline::HostLink{.bytes_per_s = rate, .delay_ms = arguments.link_delay_ms.value_or(0)};
}

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
  request.hosts.copy_every = model.hosts.copy_every;
  request.hosts.kept_of_weights = model.hosts.kept_of_weights;
  const int layers = static_cast<int>(model.costs.layers.size());
  if (!arguments.schedule) request.schedule = model.schedule;
  if (request.period_ms == 0) request.period_ms = model.period_ms;
  const bool open =
      request.devices == 0 && request.layers_of_stages.empty() && request.placement.empty();
  if (!open) return;
  if (!request.names_hosts()) request.hosts.host_of_stage = model.hosts.host_of_stage;
  const bool other_stages =
      request.names_hosts() && std::ssize(request.hosts.host_of_stage) != model.stages;
  if (other_stages) return;  // --stages-on says how many.
  if (model.cuts.empty() || request.schedule == kAutoSchedule) {
    request.devices = request.separate_backwards ? 2 * model.stages - 1 : model.stages;
  } else {
    request.layers_of_stages = LayersOfStages(model.cuts, layers);
  }
}

// Costs and request, before the link is known.
absl::StatusOr<Planning> WithoutLink(const PlanArguments& arguments, const MeasureModel& measure) {
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

absl::StatusOr<Planning> PlanningFor(const PlanArguments& arguments, const MeasureModel& measure) {
  MILLRACE_ASSIGN_OR_RETURN(const std::optional<pipeline::HostLink> link, LinkOf(arguments));
  MILLRACE_ASSIGN_OR_RETURN(Planning planning, WithoutLink(arguments, measure));
  if (link && !planning.request.names_hosts()) {
    return absl::InvalidArgumentError(
        "--link is for stages on several hosts; give --stages-on, such as 1,0, or "
        "schedule.stages_on in the --config");
  }
  planning.request.link = link;
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
    return absl::InvalidArgumentError("--save-costs writes measured costs; it needs a --config");
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

void AddPlan(CLI::App& app, PlanArguments& arguments, bool measures) {
  CLI::App* plan =
      app.add_subcommand("plan", "Cut a network for a schedule and show how it would run");
  PlanRequest& request = arguments.request;
  plan->add_option("--costs", arguments.costs, "The costs of each layer (JSON)");
  if (measures) AddMeasuring(*plan, arguments);
  plan->add_option("--schedule", arguments.schedule,
                   absl::StrCat("The schedule; auto: the best for --period-ms. Left out: ",
                                measures ? "the configuration's, else " : "", request.schedule))
      ->check(ScheduleName({"auto"}));
  plan->add_flag("--compare", arguments.compare, "All schedules side by side");
  plan->add_option("--devices", request.devices,
                   "Number of devices. Left out: the number of stages, else 2")
      ->check(CLI::PositiveNumber);
  plan->add_option("--stages", request.layers_of_stages,
                   "Layers of each stage, as 3,2,3. Left out: the best cuts")
      ->delimiter(',');
  plan->add_option("--period-ms", request.period_ms,
                   "Time between two frames of the camera. Left out: the shortest possible")
      ->check(CLI::Range(1e-6, 1e9));
  plan->add_option("--spread", request.spread,
                   "auto: the spread of costs: 0.1 for 10 %. Left out: as measured, else 0.1")
      ->check(CLI::Range(0.0, 2.0));
  AddScheduleOptions(*plan, request);
  AddHosts(*plan, arguments);
  plan->add_flag("--json", arguments.json, "Print JSON");
  AddDrawings(*plan, arguments.drawings);
  plan->footer(absl::StrCat(kFooter, measures ? kMeasuredExamples : ""));
}

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
