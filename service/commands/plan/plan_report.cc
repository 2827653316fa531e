#include "service/commands/plan/plan_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "pipeline/plan/steady_state.h"
#include "pipeline/planner/plan_memory.h"
#include "pipeline/planner/scattered_partition.h"
#include "service/commands/plan/plan_auto.h"
#include "service/commands/plan/plan_loads.h"

namespace millrace::service {
namespace {

using pipeline::NetworkProfile;
using pipeline::Phases;
using pipeline::StageCost;

// The T of 1F1B*: the frames' period; without a period every stage is a group.
double PeriodToPlanFor(const PlanRequest& request, const std::vector<StageCost>& costs) {
  if (request.period_ms > 0) return std::max(request.period_ms, pipeline::MinPeriod(costs));
  if (request.schedule == "one_f_one_b_star" || request.schedule == "one_f_one_b_one_w") {
    return pipeline::kEachStageAGroup;
  }
  return 0;
}

absl::StatusOr<Phases> PhasesFor(const NetworkProfile& network, const PlanRequest& request,
                                 const PlanCut& cut, const std::vector<StageCost>& costs) {
  pipeline::PipelineShape shape{.stages = static_cast<int>(costs.size()), .skips = {}};
  // On one host, the copy behind a stage has the bytes of the skips that pass there.
  if (request.names_hosts()) shape.skips = pipeline::SkipsOf(network, cut.cuts);
  return pipeline::MakePhases(request.schedule, {.shape = std::move(shape),
                                                 .costs = costs,
                                                 .period = PeriodToPlanFor(request, costs),
                                                 .samples = request.micro_batches,
                                                 .recompute = request.recompute,
                                                 .separate_backwards = request.separate_backwards,
                                                 .switch_at = request.switch_at,
                                                 .device_of = cut.device_of,
                                                 .devices = request.devices});
}

// Speed-up over one device that does the same work and the same number of updates, one sample at a
// time. Also its upper bound.
void AddSpeedUp(const NetworkProfile& network, PlanReport& report) {
  int updates = 0;
  for (const auto& order : report.plan.devices) {
    updates += static_cast<int>(
        std::ranges::count(order, pipeline::OperationKind::kUpdate, &pipeline::Operation::kind));
  }
  const int max_updates = report.plan.stage_count() * report.plan.samples_per_pattern;
  double total = 0;
  double largest = 0;
  for (const auto& layer : network.layers) {
    const double load =
        layer.cost.forward + layer.cost.backward + layer.cost.update * updates / max_updates;
    total += load;
    largest = std::max(largest, load);
  }
  report.speed_up = total / report.period_ms;
  report.speed_up_cap = total / largest;
}

void AddTimes(const PlanRequest& request, PlanReport& report) {
  report.min_period_ms = std::max(pipeline::SteadyPeriod(report.plan, report.costs),
                                  MinPeriodOverHosts(request, report));
  report.asked_period_ms = request.period_ms;
  pipeline::SteadyFigures steady = pipeline::Steady(
      report.plan, report.costs, std::max(report.asked_period_ms, report.min_period_ms));
  report.period_ms = steady.period;
  report.delay_ms = steady.delay;
  if (request.names_hosts() && request.link) {
    report.delay_ms += pipeline::InputMs(report.hosts->transfers, *request.link);
  }
  report.idle = std::move(steady.idle);
}

absl::StatusOr<std::vector<PlanReport>> ReportsFor(const NetworkProfile& network,
                                                   const PlanRequest& request, const PlanCut& cut) {
  const auto costs = pipeline::StageCosts(pipeline::CostsOf(network.layers), cut.cuts);
  MILLRACE_ASSIGN_OR_RETURN(Phases phases, PhasesFor(network, request, cut, costs));
  std::vector<PlanReport> reports;
  for (pipeline::Phase& phase : phases) {
    MILLRACE_ASSIGN_OR_RETURN(PlanReport report, ReportOf(network, request, cut, std::move(phase)));
    reports.push_back(std::move(report));
  }
  return reports;
}

// Fails if a device has too little memory, and names it.
absl::Status CheckMemory(const NetworkProfile& network, const std::vector<PlanReport>& reports) {
  if (!network.memory_bytes) return absl::OkStatus();
  for (const PlanReport& report : reports) {
    for (std::size_t device = 0; device < report.memory_bytes.size(); ++device) {
      if (report.memory_bytes[device] <= *network.memory_bytes) continue;
      return absl::ResourceExhaustedError(absl::StrCat(
          "schedule ", report.schedule, " needs ",
          static_cast<std::int64_t>(std::ceil(report.memory_bytes[device])), " bytes on device ",
          device, ", which has ", static_cast<std::int64_t>(*network.memory_bytes),
          "; use more devices, other --stages or a schedule that keeps less"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PlanReport>> ContiguousReports(const NetworkProfile& costs,
                                                          const PlanRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const PlanCut cut, CutForPlan(costs, request, /*holds=*/{}));
  MILLRACE_ASSIGN_OR_RETURN(std::vector<PlanReport> reports, ReportsFor(costs, request, cut));
  if (CheckMemory(costs, reports).ok()) return reports;
  // The plan holds more samples than the cuts assumed: cut again with the actual numbers.
  MILLRACE_ASSIGN_OR_RETURN(const PlanCut fitting,
                            CutForPlan(costs, request, pipeline::HoldsOf(reports.front().plan)));
  MILLRACE_ASSIGN_OR_RETURN(reports, ReportsFor(costs, request, fitting));
  MILLRACE_RETURN_IF_ERROR(CheckMemory(costs, reports));
  return reports;
}

absl::StatusOr<std::vector<PlanReport>> ScatteredReports(const NetworkProfile& costs,
                                                         const PlanRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const PlanCut cut, ScatterForPlan(costs, request));
  MILLRACE_ASSIGN_OR_RETURN(std::vector<PlanReport> reports, ReportsFor(costs, request, cut));
  MILLRACE_RETURN_IF_ERROR(CheckMemory(costs, reports));
  return reports;
}

absl::StatusOr<std::vector<PlanReport>> FoundReports(const NetworkProfile& costs,
                                                     const PlanRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(PlanReport report, FindPlan(costs, request));
  std::vector<PlanReport> reports;
  reports.push_back(std::move(report));
  return reports;
}

absl::StatusOr<std::vector<PlanReport>> ReportsWithCopies(const NetworkProfile& costs,
                                                          const PlanRequest& request) {
  auto contiguous = ContiguousReports(costs, request);
  if (!LeavesRunsOpen(request)) return contiguous;
  // Balanced loads do not guarantee an order without waits: the resulting period decides.
  auto scattered = ScatteredReports(costs, request);
  if (!scattered.ok()) return contiguous;
  const bool faster = !contiguous.ok() || scattered->front().min_period_ms <
                                              contiguous->front().min_period_ms * (1 - 1e-9);
  return faster ? scattered : contiguous;
}

// Cuts and orders are those of `serve`. It plans as if all stages were threads of one process,
// which pass tensors without a copy.
absl::StatusOr<std::vector<PlanReport>> ReportsOverHosts(NetworkProfile costs,
                                                         const PlanRequest& request) {
  if (request.schedule == kAutoSchedule || request.schedule == "local") {
    return absl::InvalidArgumentError(absl::StrCat(
        "schedule ", request.schedule,
        " cannot be planned here over several hosts; name another one, such as one_f_one_b_star"));
  }
  for (pipeline::LayerProfile& layer : costs.layers) layer.cost.copy = 0;
  return ContiguousReports(costs, request);
}

}  // namespace

absl::StatusOr<PlanReport> ReportOf(const NetworkProfile& network, const PlanRequest& request,
                                    const PlanCut& cut, pipeline::Phase phase) {
  PlanReport report;
  report.schedule = phase.first_sample == 0
                        ? request.schedule
                        : std::string(absl::StripPrefix(phase.plan.schedule, "hybrid: "));
  report.first_sample = phase.first_sample;
  report.plan = std::move(phase.plan);
  report.costs = pipeline::StageCosts(pipeline::CostsOf(network.layers), cut.cuts);
  if (request.names_hosts()) {
    MILLRACE_RETURN_IF_ERROR(PlaceOnHosts(network, request, cut, report));
  }
  report.stages = PlannedStages(network, cut.cuts, report.plan, report.costs);
  MILLRACE_ASSIGN_OR_RETURN(const auto figures, pipeline::CheckPlan(report.plan));
  for (std::size_t i = 0; i < figures.size(); ++i) report.stages[i].figures = figures[i];
  AddTimes(request, report);
  report.memory_bytes = pipeline::DeviceBytes(report.plan, network.layers, cut.cuts);
  report.bottleneck = FindBottleneck(network, report);
  AddSpeedUp(network, report);
  if (LeavesRunsOpen(request)) {
    const int devices = static_cast<int>(report.plan.devices.size());
    report.bound_ms = pipeline::ScatterBound(pipeline::CostsOf(network.layers), devices);
  }
  return report;
}

absl::StatusOr<std::vector<PlanReport>> MakePlanReports(const NetworkProfile& costs,
                                                        const PlanRequest& request) {
  if (request.names_hosts()) return ReportsOverHosts(costs, request);
  if (request.schedule == kAutoSchedule) return FoundReports(costs, request);
  return ReportsWithCopies(costs, request);
}

absl::StatusOr<std::vector<ComparedSchedule>> CompareSchedules(const NetworkProfile& costs,
                                                               const PlanRequest& request) {
  std::vector<ComparedSchedule> compared;
  absl::Status refused;
  for (const std::string& name : pipeline::ScheduleNames()) {
    PlanRequest one = request;
    one.schedule = name;
    if (name != "interleaved") one.placement.clear();
    compared.push_back({name, MakePlanReports(costs, one)});
    refused.Update(compared.back().reports.status());
  }
  const bool any = std::ranges::any_of(compared, [](const auto& one) { return one.reports.ok(); });
  if (!any) return refused;
  return compared;
}

int MaxStaleness(const PlanReport& report) {
  int max = 0;
  for (const PlannedStage& stage : report.stages) max = std::max(max, stage.figures.staleness);
  return max;
}

int TotalSlots(const PlanReport& report) {
  int total = 0;
  for (const PlannedStage& stage : report.stages) total += stage.figures.slots;
  return total;
}

double MeanIdle(const PlanReport& report) {
  return std::accumulate(report.idle.begin(), report.idle.end(), 0.0) /
         static_cast<double>(report.idle.size());
}

double MaxMemory(const PlanReport& report) {
  return *std::max_element(report.memory_bytes.begin(), report.memory_bytes.end());
}

}  // namespace millrace::service
