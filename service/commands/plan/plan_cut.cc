#include "service/commands/plan/plan_cut.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/planner/partition.h"
#include "pipeline/planner/scattered_partition.h"

namespace millrace::service {
namespace {

using pipeline::NetworkProfile;

constexpr int kDevices = 2;
constexpr int kMaxRunsPerDevice = 8;

bool Interleaves(const PlanRequest& request) { return request.schedule == "interleaved"; }

// Whether forwards and backwards run on different devices: 2K + 1 devices for K cuts.
bool Separates(const PlanRequest& request) {
  const bool stale = request.schedule == "stale" || request.schedule == "hybrid";
  return stale && request.separate_backwards;
}

// All stages run on one device, and --devices says how many stages there are.
bool HasOneDevice(const PlanRequest& request) { return request.schedule == "delayed"; }

int DevicesFor(int stages, const PlanRequest& request) {
  return Separates(request) ? 2 * stages - 1 : stages;
}

absl::StatusOr<PlanCut> CutByHand(int layers, const PlanRequest& request) {
  const std::vector<int>& of_stages = request.layers_of_stages;
  PlanCut cut;
  MILLRACE_ASSIGN_OR_RETURN(cut.cuts, pipeline::CutsInto(of_stages, layers));
  const int stages = static_cast<int>(of_stages.size());
  const int devices = DevicesFor(stages, request);
  if (request.devices > 0 && request.devices != devices && !Interleaves(request) &&
      !HasOneDevice(request)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "schedule ", request.schedule, " runs ", Plural(stages, "stage"), " on ",
        Plural(devices, "device"), "; ask for ", "--devices ", devices, " or leave it out"));
  }
  return cut;
}

absl::StatusOr<int> StagesFor(int layers, const PlanRequest& request) {
  if (!request.placement.empty()) return static_cast<int>(request.placement.size());
  const int stages = request.names_hosts() ? static_cast<int>(request.hosts.host_of_stage.size())
                                           : std::min(kDevices, layers);
  if (request.devices == 0) return stages;
  if (!Separates(request)) return request.devices;
  if (request.devices % 2 == 1) return (request.devices + 1) / 2;
  return absl::InvalidArgumentError(
      absl::StrCat("--separate-backwards takes 2K + 1 devices for K cuts; ask for --devices ",
                   request.devices - 1, " or ", request.devices + 1));
}

absl::Status CheckPlacement(const PlanRequest& request, int stages) {
  const std::vector<int>& placement = request.placement;
  if (placement.empty()) return absl::OkStatus();
  if (!Interleaves(request)) {
    return absl::InvalidArgumentError(
        "--placement is for --schedule interleaved; the others place their stages themselves");
  }
  const int last = *std::max_element(placement.begin(), placement.end());
  const int named =
      last < stages ? last + 1 : stages;  // Devices beyond the stages are refused below.
  const int devices = request.devices > 0 ? request.devices : std::max(named, 1);
  std::vector<bool> used(devices, false);
  bool good = static_cast<int>(placement.size()) == stages && devices <= stages;
  for (int device : placement) {
    good &= device >= 0 && device < devices;
    if (good) used[device] = true;
  }
  if (good && std::all_of(used.begin(), used.end(), [](bool u) { return u; })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--placement must name one device for each of the ", stages,
                   " stages, counted from 0, and use each of the ", devices, " devices"));
}

}  // namespace

absl::StatusOr<PlanCut> CutForPlan(const NetworkProfile& costs, const PlanRequest& request,
                                   const std::vector<pipeline::StageHolds>& holds) {
  const int layers = static_cast<int>(costs.layers.size());
  PlanCut cut;
  if (!request.layers_of_stages.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(cut, CutByHand(layers, request));
  } else {
    MILLRACE_ASSIGN_OR_RETURN(const int stages, StagesFor(layers, request));
    MILLRACE_ASSIGN_OR_RETURN(cut.cuts, pipeline::BestCuts({.layers = costs.layers,
                                                            .stages = stages,
                                                            .memory_bytes = costs.memory_bytes,
                                                            .holds = holds}));
  }
  MILLRACE_RETURN_IF_ERROR(CheckPlacement(request, static_cast<int>(cut.cuts.size()) + 1));
  cut.device_of = request.placement;
  if (LeavesRunsOpen(request)) {
    cut.device_of.resize(cut.cuts.size() + 1);
    std::iota(cut.device_of.begin(), cut.device_of.end(), 0);
  }
  return cut;
}

bool LeavesRunsOpen(const PlanRequest& request) {
  return Interleaves(request) && request.placement.empty() && request.layers_of_stages.empty();
}

absl::StatusOr<PlanCut> ScatterForPlan(const NetworkProfile& costs, const PlanRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const int devices,
                            StagesFor(static_cast<int>(costs.layers.size()), request));
  const std::vector<pipeline::StageCost> by_layer = pipeline::CostsOf(costs.layers);
  MILLRACE_ASSIGN_OR_RETURN(pipeline::ScatteredPartition scattered,
                            pipeline::Scatter(by_layer, devices));
  if (static_cast<int>(scattered.device_of.size()) > kMaxRunsPerDevice * devices) {
    return absl::InvalidArgumentError("only contiguous cuts make few enough stages");
  }
  return PlanCut{std::move(scattered.cuts), std::move(scattered.device_of)};
}

}  // namespace millrace::service
