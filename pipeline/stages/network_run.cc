#include "pipeline/stages/network_run.h"

#include <pthread.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/device/device_streams.h"
#include "pipeline/nn/tensor_snapshot.h"
#include "pipeline/planner/partition.h"
#include "pipeline/stages/profile_layers.h"

namespace millrace::pipeline {
namespace {

absl::Status GoThrough(const FirstInput& first, bool all_have_losses, CheckOutput check) {
  const at::NoGradGuard no_graph;
  Tensors passed = {first.input};
  int number = 0;
  for (const Stage& stage : CutIntoStages(first.chain, first.cuts)) {
    ++number;
    MILLRACE_RETURN_IF_ERROR(ExceptionToStatus(
        [&] { passed = stage.Forward(passed, first.seed); },
        [number](std::string_view text) {
          return absl::InvalidArgumentError(absl::StrCat(
              "stage ", number, " of the network refuses the first input: ", CauseLine(text)));
        }));
    const bool last = number == static_cast<int>(first.cuts.size()) + 1;
    if (!last && !all_have_losses) continue;
    const std::string what =
        last ? std::string("the network")
             : absl::StrCat("stage ", number, ", which schedule local gives its own loss,");
    MILLRACE_RETURN_IF_ERROR(check(passed[0], what));
  }
  return absl::OkStatus();
}

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Names the worker's thread, for ps, top and gdb. Threads that LibTorch starts from it inherit the
// name.
void PrepareWorker(int device, int threads) {
  pthread_setname_np(pthread_self(), absl::StrCat("stage ", device + 1).c_str());
  at::set_num_threads(threads);
}

}  // namespace

absl::Status TryStages(const FirstInput& first, const std::string& schedule, CheckOutput check) {
  const Stage whole = WholeChain(first.chain);
  const TensorSnapshot found(whole.buffers());
  absl::Status tried = GoThrough(first, schedule == "local", check);
  found.Restore(whole.buffers());
  return tried;
}

absl::StatusOr<Phases> PlanStages(const FirstInput& first, const std::string& schedule,
                                  ScheduleRequest request,
                                  const std::function<at::Tensor(const at::Tensor&)>& objective) {
  request.shape = ShapeOf(first.chain, first.cuts);
  if (request.period > 0) {
    const NetworkProfile costs = ProfileLayers(first.chain, first.input, objective);
    request.costs = StageCosts(CostsOf(costs.layers), first.cuts);
    for (StageCost& cost : request.costs) cost.copy = 0;  // Threads pass tensors without a copy.
  } else {
    request.costs.assign(request.shape.stages, kAssumedCost);
  }
  return MakePhases(schedule, request);
}

absl::StatusOr<std::unique_ptr<NetworkRun>> NetworkRun::Start(Options options) {
  MakeDevices make_devices = MakeDeviceStreams(options.network.devices);
  std::unique_ptr<NetworkRun> run(new NetworkRun(std::move(options.network), options));
  const bool suspended = options.suspended;
  if (absl::Status begun = run->Begin(std::move(options), std::move(make_devices)); !begun.ok()) {
    run->network_.AbortTransfers(begun);
    return begun;
  }
  if (suspended) run->Suspend();
  return run;
}

absl::Status NetworkRun::Begin(Options options, MakeDevices make_devices) {
  if (options.prepare) options.prepare(network_);
  if (!options.suspended) MILLRACE_RETURN_IF_ERROR(network_.SpreadState());
  std::vector<ObserveOperation> observers = std::move(options.observers);
  observers.insert(observers.begin(), network_.Observer());
  if (options.recorder != nullptr) {
    std::size_t devices = 0;
    for (const Phase& phase : options.phases) {
      devices = std::max(devices, phase.plan.devices.size());
    }
    observers.push_back(options.recorder->Observer(devices));
  }
  MILLRACE_ASSIGN_OR_RETURN(
      engine_, PhasedEngine::Start(
                   {.phases = std::move(options.phases),
                    .run = std::bind_front(&StagedNetwork::Run, &network_),
                    .on_worker_start = [threads = options.threads_per_stage](
                                           int device) { PrepareWorker(device, threads); },
                    .make_devices = std::move(make_devices),
                    .on_switch = [this](const Phase& phase) { SwitchTo(phase, network_.cuts()); },
                    .observers = std::move(observers),
                    .clock = options.clock}));
  return absl::OkStatus();
}

// Workers may wait for other ranks, and those for this one.
NetworkRun::~NetworkRun() {
  if (!ended_well_) network_.AbortTransfers(absl::CancelledError("the run was given up"));
}

// After a failure, other ranks must not wait for this one, nor this one for them.
template <typename Call>
auto NetworkRun::AbortUnlessOk(const Call& call) {
  auto result = FailureToStatus(call);
  if (!result.ok()) network_.AbortTransfers(StatusOf(result));
  return result;
}

absl::StatusOr<std::int64_t> NetworkRun::Admit(absl::FunctionRef<at::Tensor()> input) {
  return AbortUnlessOk([&] {
    return engine_->Admit([&](std::int64_t number) { network_.Admit(number, input()); });
  });
}

absl::Status NetworkRun::SetOptimizer(const OptimizerOptions& optimizer) {
  MILLRACE_RETURN_IF_ERROR(CheckOptimizer(optimizer));
  const std::string state = OptimizerStateInWords(optimizer);
  const MutexLock lock(optimizer_mu_);
  const std::string current = OptimizerStateInWords(optimizer_);
  if (state != current) {
    return absl::FailedPreconditionError(
        absl::StrCat("the optimizer ", state, " cannot continue from the state of ", current));
  }
  OptimizerOptions next = optimizer;
  next.learning_rate = optimizer_.learning_rate;
  is_optimizer_due_ = is_optimizer_due_ || next != optimizer_;
  optimizer_ = next;
  return absl::OkStatus();
}

absl::Status NetworkRun::AwaitRoom() {
  if (const std::optional<OptimizerOptions> due = TakeOptimizerDue()) {
    if (absl::Status changed = ChangeOptimizer(*due); !changed.ok()) {
      const MutexLock lock(optimizer_mu_);
      is_optimizer_due_ = true;  // For a run that is suspended and resumes.
      return changed;
    }
  }
  return AbortUnlessOk([&] { return engine_->AwaitRoom(); });
}

absl::Status NetworkRun::ChangeOptimizer(const OptimizerOptions& optimizer) {
  return AbortUnlessOk([&]() -> absl::Status {
    if (tell_ranks_) MILLRACE_RETURN_IF_ERROR(AnnounceSwitch({.optimizer = optimizer}).status());
    return PauseHere([&](StagedNetwork& network) {
      if (on_switch_) on_switch_();
      network.SetOptimizer(optimizer);
      if (on_optimizer_) on_optimizer_();
    });
  });
}

std::optional<OptimizerOptions> NetworkRun::TakeOptimizerDue() {
  const MutexLock lock(optimizer_mu_);
  if (!std::exchange(is_optimizer_due_, false)) return std::nullopt;
  return optimizer_;
}

absl::Status NetworkRun::Announce(MessageKind kind) {
  return network_.Announce(kind, engine_->next_sample());
}

absl::StatusOr<Plan> NetworkRun::AnnounceSwitch(NetworkChange change) {
  MILLRACE_RETURN_IF_ERROR(Announce(MessageKind::kSwitch));
  return tell_ranks_(change);
}

// While no operation runs: all ranks bring their states to the leader.
absl::Status NetworkRun::Gather(const Phase& phase) {
  network_.Switch(network_.plan(), phase.first_sample);
  return network_.GatherState(MessageKind::kPause);
}

absl::Status NetworkRun::Pause(absl::FunctionRef<void(StagedNetwork&)> while_idle) {
  return AbortUnlessOk([&]() -> absl::Status {
    MILLRACE_RETURN_IF_ERROR(Announce(MessageKind::kPause));
    return PauseHere(while_idle);
  });
}

absl::Status NetworkRun::PauseHere(absl::FunctionRef<void(StagedNetwork&)> while_idle) {
  absl::Status exchanged;
  absl::Status paused = engine_->Pause([&](const Phase& phase) {
    exchanged = Gather(phase);
    if (!exchanged.ok()) return;
    while_idle(network_);
    exchanged = network_.SpreadState();
  });
  paused.Update(exchanged);
  return paused;
}

absl::Status NetworkRun::Switch(Plan plan, const Cuts& cuts) {
  return AbortUnlessOk([&]() -> absl::Status {
    if (!tell_ranks_) return SwitchHere(std::move(plan), cuts);
    MILLRACE_ASSIGN_OR_RETURN(Plan own, AnnounceSwitch({.plan = std::move(plan), .cuts = cuts}));
    return SwitchHere(std::move(own), cuts);
  });
}

absl::Status NetworkRun::Follow(Plan plan, const Cuts& cuts, const OptimizerOptions& optimizer) {
  return AbortUnlessOk([&] {
    if (plan != network_.plan() || cuts != network_.cuts()) {
      return SwitchHere(std::move(plan), cuts);
    }
    return PauseHere([&](StagedNetwork& network) { network.SetOptimizer(optimizer); });
  });
}

// Once the network has switched, the engine must, too, also if a rank does not get its state.
absl::Status NetworkRun::SwitchHere(Plan plan, const Cuts& cuts) {
  absl::Status spread;
  absl::Status switched = engine_->Switch(std::move(plan), [&](const Phase& phase) -> absl::Status {
    MILLRACE_RETURN_IF_ERROR(Gather(phase));
    SwitchTo(phase, cuts);
    spread = network_.SpreadState();
    return absl::OkStatus();
  });
  switched.Update(spread);
  return switched;
}

void NetworkRun::Suspend() {
  engine_->Suspend();
  network_.LeaveRanks();
}

absl::Status NetworkRun::Resume(RankWires ranks) {
  return AbortUnlessOk([&] {
    return engine_->Resume([&](const Phase& phase) {
      network_.JoinRanks(std::move(ranks), phase.plan, phase.first_sample);
      return network_.SpreadState();
    });
  });
}

absl::Status NetworkRun::Drain() {
  constexpr MessageKind kEnd = MessageKind::kEnd;
  if (std::exchange(is_ended_, true)) return engine_->Drain();
  return AbortUnlessOk([&] {
    absl::Status ended = Announce(kEnd);
    ended.Update(engine_->Drain());
    if (ended.ok()) ended = network_.GatherState(kEnd);
    ended_well_ = ended.ok();
    return ended;
  });
}

void NetworkRun::SwitchTo(const Phase& phase, const Cuts& cuts) {
  if (on_switch_) on_switch_();
  network_.Switch(phase.plan, phase.first_sample, cuts);
}

}  // namespace millrace::pipeline
