#include "service/commands/plan/cli_plan.h"

#include <map>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "service/commands/plan/cli_drawings.h"
#include "service/terminal/cli_values.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
Costs are a JSON file; what is left out is 0, or no limit:
  {"layers": [{"name": "conv1", "forward_ms": 1.5, "backward_ms": 3, "update_ms": 0.2,
               "output_bytes": 4e6, "weight_bytes": 1e3, "activation_bytes": 8e6}, ...],
   "copy_gb_per_s": 12, "memory_bytes": 8e9, "spread": 0.1}

--schedule auto takes the least staleness, then the least delay, with which a camera's rate holds
although costs vary and what the stages keep fits into the memory. Where none does it learns from
fewer samples, then only predicts.

Examples
  millrace plan --costs costs.json --devices 4 --compare
  millrace plan --costs costs.json --stages 3,2,3 --schedule partime --period-ms 40 --svg plan.svg
  millrace plan --costs costs.json --devices 4 --schedule auto --period-ms 40)";

constexpr char kMeasuredExamples[] = R"(
  millrace plan --config samples/millrace.yaml --schedule auto --period-ms 100
  millrace plan --config samples/millrace.yaml --save-costs costs.json)";

void AddScheduleOptions(CLI::App& plan, PlanRequest& request) {
  static const std::map<std::string, pipeline::Recompute> recompute = {
      {"always", pipeline::Recompute::kAlways},
      {"except_last", pipeline::Recompute::kExceptLast},
      {"never", pipeline::Recompute::kNever}};
  plan.add_option("--micro-batches", request.micro_batches,
                  "gpipe, timeprest: micro-batches; pipedream_2bw: samples an update; k_periodic: "
                  "samples a pattern")
      ->check(CLI::PositiveNumber);
  plan.add_option("--recompute", request.recompute,
                  "gpipe: which forwards run again: always, except_last or never")
      ->transform(CLI::CheckedTransformer(recompute).description(""))
      ->type_name("KIND");
  plan.add_flag("--separate-backwards", request.separate_backwards,
                "stale: backwards on devices of their own, 2K + 1 for K cuts");
  plan.add_option("--switch-at", request.switch_at, "hybrid: the sample before which it switches")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  plan.add_option("--placement", request.placement,
                  "interleaved: the device of each stage, as 0,1,0. Left out: the fastest found")
      ->delimiter(',');
}

void AddMeasuring(CLI::App& plan, PlanArguments& arguments) {
  plan.add_option("-c,--config", arguments.config,
                  "A configuration: its model is measured in place of --costs, and what is left "
                  "out here is as it says");
  plan.add_option("--stream", arguments.stream, "Which of its streams. Left out: the only one");
  plan.add_option("--save-costs", arguments.save_costs,
                  "Write what was measured to this file, for --costs");
}

}  // namespace

void AddPlan(CLI::App& app, PlanArguments& arguments, bool measures) {
  CLI::App* plan =
      app.add_subcommand("plan", "Cut a network for a schedule and say how it would run");
  PlanRequest& request = arguments.request;
  plan->add_option("--costs", arguments.costs, "What each layer costs (JSON)");
  if (measures) AddMeasuring(*plan, arguments);
  plan->add_option("--schedule", arguments.schedule,
                   absl::StrCat("Which schedule; auto: found for --period-ms. Left out: ",
                                measures ? "the configuration's, else " : "", request.schedule))
      ->check(ScheduleName({"auto"}));
  plan->add_flag("--compare", arguments.compare, "All schedules side by side");
  plan->add_option("--devices", request.devices,
                   "How many. Left out: as many as there are stages, else 2")
      ->check(CLI::PositiveNumber);
  plan->add_option("--stages", request.layers_of_stages,
                   "Layers of each stage, as 3,2,3. Left out: the best cuts")
      ->delimiter(',');
  plan->add_option("--period-ms", request.period_ms,
                   "Time between two frames of the camera. Left out: as little as can be")
      ->check(CLI::Range(1e-6, 1e9));
  plan->add_option("--spread", request.spread,
                   "auto: how much costs vary: 0.1 for 10 %. Left out: as measured, else 0.1")
      ->check(CLI::Range(0.0, 2.0));
  AddScheduleOptions(*plan, request);
  plan->add_flag("--json", arguments.json, "Print JSON");
  AddDrawings(*plan, arguments.drawings);
  plan->footer(absl::StrCat(kFooter, measures ? kMeasuredExamples : ""));
}

}  // namespace millrace::service
