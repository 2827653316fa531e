#include "pipeline/offline/bench.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <ATen/Parallel.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/device/device_choice.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/offline/bench_contender.h"
#include "pipeline/planner/partition.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/profile_layers.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

using Report = std::function<void(const std::string&)>;

struct Contest {
  std::vector<BenchRow> rows;
  std::vector<std::unique_ptr<BenchContender>> contenders;  // One for each row.

  void Add(BenchRow row, std::unique_ptr<BenchContender> contender) {
    rows.push_back(std::move(row));
    contenders.push_back(std::move(contender));
  }
};

absl::Status CheckSchedule(const std::string& name) {
  if (name == "hybrid") {
    return absl::InvalidArgumentError(
        "schedule hybrid is stale first and sequential later; measure these two");
  }
  return MakePhases(name, {.costs = {kAssumedCost}}).status();
}

absl::StatusOr<at::Device> DeviceOf(const BenchOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<at::Device> devices, FindDevices({options.device}));
  return devices.front();
}

absl::Status CheckStages(int stages, const std::string& network, const LayerChain& chain) {
  const int layers = static_cast<int>(chain.layers.size());
  if (1 <= stages && stages <= layers) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Plural(stages, "stage"), ": network ", network,
                                                 " has ", Plural(layers, "layer"), ", so use 1 to ",
                                                 layers));
}

absl::Status Check(const BenchOptions& options) {
  MILLRACE_RETURN_IF_ERROR(CheckOptimizer(options.optimizer));
  MILLRACE_RETURN_IF_ERROR(DeviceOf(options).status());
  if (std::min({options.samples, options.turns, options.threads_per_stage}) < 1) {
    return absl::InvalidArgumentError("samples, turns and threads a stage are at least 1");
  }
  for (const std::string& name : options.schedules) MILLRACE_RETURN_IF_ERROR(CheckSchedule(name));
  for (const std::string& name : options.networks) {
    MILLRACE_ASSIGN_OR_RETURN(const LayerChain chain, MakeBenchNetwork(name, options.network));
    for (const int stages : options.stages) {
      MILLRACE_RETURN_IF_ERROR(CheckStages(stages, name, chain));
    }
  }
  return absl::OkStatus();
}

absl::Status AddBaseline(const BenchOptions& options, BenchRow row, Contest& contest) {
  MILLRACE_ASSIGN_OR_RETURN(LayerChain chain, MakeBenchNetwork(row.network, options.network));
  MILLRACE_ASSIGN_OR_RETURN(const at::Device device, DeviceOf(options));
  auto contender =
      MakeSequentialContender(std::move(chain), row.threads, options.optimizer, device);
  contest.Add(std::move(row), std::move(contender));
  return absl::OkStatus();
}

// One independent model for each stage.
absl::Status AddCopies(const BenchOptions& options, const std::string& network, int count,
                       Contest& contest) {
  std::vector<std::unique_ptr<BenchContender>> copies;
  for (int i = 0; i < count; ++i) {
    MILLRACE_ASSIGN_OR_RETURN(LayerChain chain, MakeBenchNetwork(network, options.network));
    copies.push_back(
        MakeSequentialContender(std::move(chain), options.threads_per_stage, options.optimizer));
  }
  contest.Add({.network = network,
               .schedule = absl::StrCat("LibTorch, ", count, " copies"),
               .threads = count * options.threads_per_stage},
              MakeCopiesContender(std::move(copies)));
  return absl::OkStatus();
}

absl::Status AddStaged(const BenchOptions& options, const std::vector<StageCost>& layers,
                       BenchRow row, Contest& contest) {
  MILLRACE_ASSIGN_OR_RETURN(LayerChain chain, MakeBenchNetwork(row.network, options.network));
  MILLRACE_ASSIGN_OR_RETURN(const at::Device device, DeviceOf(options));
  MILLRACE_ASSIGN_OR_RETURN(Cuts cuts, BestCuts(layers, row.stages));
  ScheduleRequest request{.shape = ShapeOf(chain, cuts), .costs = StageCosts(layers, cuts)};
  MILLRACE_ASSIGN_OR_RETURN(Plan plan, MakePlan(row.schedule, request));
  row.devices = static_cast<int>(plan.devices.size());
  row.threads = options.threads_per_stage;
  for (const int layer : cuts) row.cuts.push_back(chain.layers[layer]->name());
  auto contender =
      MakeStagedContender(std::move(chain), {.cuts = std::move(cuts),
                                             .plan = std::move(plan),
                                             .threads_per_stage = options.threads_per_stage,
                                             .optimizer = options.optimizer,
                                             .device = device,
                                             .captures = row.captures});
  contest.Add(std::move(row), std::move(contender));
  return absl::OkStatus();
}

// Measures with the number of threads that a stage will have.
absl::StatusOr<std::vector<StageCost>> Measure(const BenchOptions& options,
                                               const std::string& network) {
  MILLRACE_ASSIGN_OR_RETURN(const LayerChain chain, MakeBenchNetwork(network, options.network));
  MILLRACE_ASSIGN_OR_RETURN(const at::Device device, DeviceOf(options));
  at::set_num_threads(options.threads_per_stage);
  std::vector<StageCost> costs =
      CostsOf(ProfileLayers(chain, MakeBenchSamples(options.network, 1)[0].to(device), BenchLoss,
                            {.device = device})
                  .layers);
  for (StageCost& cost : costs) cost.copy = 0;  // Threads pass tensors without a copy.
  return costs;
}

absl::Status AddBaselinesOfCpu(const BenchOptions& options, const std::string& network,
                               int all_threads, Contest& contest) {
  MILLRACE_RETURN_IF_ERROR(AddBaseline(
      options, {.network = network, .schedule = "LibTorch, 1 thread", .threads = 1}, contest));
  MILLRACE_RETURN_IF_ERROR(AddBaseline(
      options, {.network = network, .schedule = "LibTorch, all threads", .threads = all_threads},
      contest));
  for (const int stages : options.stages) {
    if (stages == 1) continue;
    MILLRACE_RETURN_IF_ERROR(AddCopies(options, network, stages, contest));
  }
  return absl::OkStatus();
}

std::string CostsText(const std::string& network, const std::vector<StageCost>& layers) {
  StageCost all;
  for (const StageCost& layer : layers) {
    all.forward += layer.forward;
    all.backward += layer.backward;
    all.update += layer.update;
  }
  return absl::StrFormat(
      "%s: its layers one by one take %.2f ms forward, %.2f ms backward and %.2f ms to update",
      network, all.forward, all.backward, all.update);
}

absl::StatusOr<Contest> Invite(const BenchOptions& options, const std::string& network,
                               int all_threads, const Report& report) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<StageCost> layers, Measure(options, network));
  report(CostsText(network, layers));
  const bool on_gpu = options.device != "cpu";
  Contest contest;
  MILLRACE_RETURN_IF_ERROR(
      on_gpu ? AddBaseline(options, {.network = network, .schedule = "LibTorch"}, contest)
             : AddBaselinesOfCpu(options, network, all_threads, contest));
  for (const int stages : options.stages) {
    for (const std::string& schedule : options.schedules) {
      BenchRow row{.network = network, .schedule = schedule, .stages = stages};
      MILLRACE_RETURN_IF_ERROR(AddStaged(options, layers, row, contest));
      row.captures = true;
      if (on_gpu) MILLRACE_RETURN_IF_ERROR(AddStaged(options, layers, row, contest));
    }
  }
  return contest;
}

// `held`: the number of earlier contests, with the same number of rows each.
absl::StatusOr<std::vector<BenchRow>> Hold(const BenchOptions& options, std::size_t held,
                                           Contest contest, const Report& report) {
  const auto turns = static_cast<std::int64_t>(contest.rows.size()) * options.turns;
  const std::int64_t all = turns * static_cast<std::int64_t>(options.networks.size());
  std::int64_t done = turns * static_cast<std::int64_t>(held);
  const std::vector<at::Tensor> samples = MakeBenchSamples(options.network, options.samples);
  for (int turn = 1; turn <= options.turns; ++turn) {
    for (std::size_t i = 0; i < contest.rows.size(); ++i) {
      MILLRACE_ASSIGN_OR_RETURN(const BenchTurn taken,
                                contest.contenders[i]->Take(samples, options.samples));
      if (turn == 1 && !taken.why_not_captured.empty()) {
        report(absl::StrCat(contest.rows[i].schedule, ", ", contest.rows[i].stages,
                            " stages: no graph for ", taken.why_not_captured));
      }
      contest.rows[i].turns.push_back(taken);
      if (options.on_turn) options.on_turn(++done, all);
    }
  }
  return std::move(contest.rows);
}

absl::StatusOr<std::vector<BenchRow>> RunChecked(const BenchOptions& options,
                                                 const Report& report) {
  MILLRACE_RETURN_IF_ERROR(Check(options));
  MILLRACE_ASSIGN_OR_RETURN(const DeviceChoice choice, ChooseDevices({options.device}));
  if (!choice.where.empty()) report(absl::StrCat("on ", choice.where));
  const int all_threads = at::get_num_threads();
  std::vector<BenchRow> all;
  for (std::size_t held = 0; held < options.networks.size(); ++held) {
    const std::string& network = options.networks[held];
    report(absl::StrCat(network, ": measuring its layers"));
    MILLRACE_ASSIGN_OR_RETURN(Contest contest, Invite(options, network, all_threads, report));
    MILLRACE_ASSIGN_OR_RETURN(std::vector<BenchRow> rows,
                              Hold(options, held, std::move(contest), report));
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

absl::StatusOr<std::vector<BenchRow>> RunBench(const BenchOptions& options, const Report& report) {
  try {
    return RunChecked(options, report);
  } catch (const std::exception& e) {
    return FailureOf(e);
  }
}

}  // namespace millrace::pipeline
