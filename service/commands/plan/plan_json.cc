#include "service/commands/plan/plan_json.h"

#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::NetworkProfile;

json StageJson(const PlannedStage& stage) {
  return {{"layers", {stage.first_layer, stage.last_layer}},
          {"device", stage.device},
          {"backward_device", stage.backward_device},
          {"load_ms", stage.load_ms},
          {"slots", stage.figures.slots},
          {"mismatch", stage.figures.mismatch},
          {"staleness", stage.figures.staleness},
          {"weight_gap", stage.figures.weight_gap},
          {"gradient_age", stage.figures.gradient_age},
          {"versions", stage.holds.versions},
          {"activations", stage.holds.activations},
          {"inputs", stage.holds.inputs},
          {"memory_bytes", stage.memory_bytes}};
}

json WeightsJson(const pipeline::WeightsRead& weights) {
  switch (weights.which) {
    case pipeline::WeightsRead::Which::kCurrent:
      return "current";
    case pipeline::WeightsRead::Which::kForward:
      return "forward";
    case pipeline::WeightsRead::Which::kLag:
      return {{"lag", weights.lag}};
  }
  return nullptr;
}

json OperationJson(const pipeline::Operation& operation, std::size_t device, std::size_t order) {
  const std::string kind = absl::StrReplaceAll(std::string(pipeline::Name(operation.kind)),
                                               {{" ", "_"}});  // "weight_gradient"
  json object = {{"stage", operation.stage}, {"kind", kind},     {"sample", operation.first},
                 {"span", operation.count},  {"device", device}, {"order", order},
                 {"shift", operation.shift}};
  using enum pipeline::OperationKind;
  const bool reads = operation.kind == kForward || operation.kind == kBackward;
  if (reads) object["weights"] = WeightsJson(operation.weights);
  if (operation.kind == kBackward) {
    const bool inputs = operation.keeps == pipeline::Keeps::kInputs;
    object["keeps"] = inputs ? "inputs" : "activations";
  }
  return object;
}

json OperationsJson(const pipeline::Plan& plan) {
  json operations = json::array();
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (std::size_t order = 0; order < plan.devices[device].size(); ++order) {
      operations.push_back(OperationJson(plan.devices[device][order], device, order));
    }
  }
  return operations;
}

json BottleneckJson(const NetworkProfile& network, const Bottleneck& bottleneck) {
  if (bottleneck.kind == Bottleneck::Kind::kLink) {
    return {{"kind", "link"}, {"host", bottleneck.number}, {"load_ms", bottleneck.load_ms}};
  }
  static constexpr const char* kKinds[] = {"stage", "device", "cut"};
  const char* kind = kKinds[static_cast<int>(bottleneck.kind)];
  return {{"kind", kind},
          {kind, bottleneck.number},
          {"load_ms", bottleneck.load_ms},
          {"layer", bottleneck.layer},
          {"layer_name", network.layers[bottleneck.layer].name},
          {"layer_ms", bottleneck.layer_ms}};
}

json HostsJson(const PlannedHosts& hosts) {
  json transfers = json::array();
  for (const pipeline::HostTransfer& transfer : hosts.transfers) {
    transfers.push_back({{"kind", std::string(Name(transfer.kind))},
                         {"from", transfer.from},
                         {"to", transfer.to},
                         {"bytes", transfer.bytes}});
  }
  json loads = json::array();
  for (const pipeline::HostLoad& load : hosts.loads) {
    loads.push_back({{"sent_bytes", load.sent_bytes}, {"received_bytes", load.received_bytes}});
  }
  json object = {{"stages_on", hosts.host_of_stage},
                 {"transfers", std::move(transfers)},
                 {"loads", std::move(loads)}};
  if (hosts.link) {
    object["link_bytes_per_s"] = hosts.link->bytes_per_s;
    object["link_delay_ms"] = hosts.link->delay_ms;
  }
  return object;
}

void AddFound(const FoundPlan& found, json& object) {
  object["interval_ms"] = found.interval_ms;
  object["spread"] = found.spread;
  object["t_ms"] = found.t_ms;
  object["update_every"] = found.update_every;
  object["holds"] = found.holds;
  object["dropped_share"] = found.dropped_share;
  object["mean_delay_ms"] = found.mean_delay_ms;
  object["limit"] = found.limit;
}

json ReportJson(const NetworkProfile& network, const PlanReport& report) {
  json stages = json::array();
  for (const PlannedStage& stage : report.stages) stages.push_back(StageJson(stage));
  json object = {{"schedule", report.schedule},
                 {"first_sample", report.first_sample},
                 {"samples_per_pattern", report.plan.samples_per_pattern},
                 {"devices", report.plan.devices.size()},
                 {"period_ms", report.period_ms},
                 {"least_period_ms", report.min_period_ms},
                 {"delay_ms", report.delay_ms},
                 {"stages", std::move(stages)},
                 {"operations", OperationsJson(report.plan)},
                 {"bottleneck", BottleneckJson(network, report.bottleneck)},
                 {"speed_up", report.speed_up},
                 {"speed_up_cap", report.speed_up_cap},
                 {"idle", report.idle},
                 {"memory_bytes", report.memory_bytes}};
  if (report.asked_period_ms > 0) {
    object["asked_period_ms"] = report.asked_period_ms;
    object["holds"] = report.asked_period_ms >= report.min_period_ms * (1 - 1e-9);
  }
  if (report.bound_ms) object["bound_ms"] = *report.bound_ms;
  if (report.hosts) object["hosts"] = HostsJson(*report.hosts);
  if (report.found) AddFound(*report.found, object);
  return object;
}

json PhasesJson(const NetworkProfile& network, const std::vector<PlanReport>& phases) {
  json object;
  for (auto phase = phases.rbegin(); phase != phases.rend(); ++phase) {
    json earlier = ReportJson(network, *phase);
    if (!object.is_null()) earlier["then"] = std::move(object);
    object = std::move(earlier);
  }
  return object;
}

}  // namespace

std::string PlanJson(const NetworkProfile& network, const std::vector<PlanReport>& phases) {
  return PhasesJson(network, phases).dump(2) + "\n";
}

std::string CompareJson(const NetworkProfile& network,
                        const std::vector<ComparedSchedule>& schedules) {
  json list = json::array();
  for (const ComparedSchedule& schedule : schedules) {
    list.push_back(schedule.reports.ok()
                       ? PhasesJson(network, *schedule.reports)
                       : json{{"schedule", schedule.name},
                              {"error", std::string(schedule.reports.status().message())}});
  }
  return list.dump(2) + "\n";
}

}  // namespace millrace::service
