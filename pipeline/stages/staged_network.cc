#include "pipeline/stages/staged_network.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/plan/stage_walk.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {
namespace {

std::unique_ptr<MessageRoutes> RoutesFor(const std::optional<RankWires>& ranks) {
  if (!ranks) return nullptr;
  return std::make_unique<MessageRoutes>(
      ranks->sent != nullptr ? ranks->sent
                             : std::make_shared<SentToRanks>(ranks->rank_of_stage.front() + 1));
}

void ThrowUnlessOk(const absl::Status& status) {
  if (!status.ok()) throw StepError(status);
}

}  // namespace

PipelineShape ShapeOf(const LayerChain& chain, const Cuts& cuts) {
  PipelineShape shape{.stages = static_cast<int>(cuts.size()) + 1, .skips = {}};
  for (const SkipEdge& edge : chain.skips) {
    const StageSkip skip{StageOfLayer(cuts, edge.from), StageOfLayer(cuts, edge.to)};
    const bool known =
        std::any_of(shape.skips.begin(), shape.skips.end(),
                    [&skip](const StageSkip& s) { return s.from == skip.from && s.to == skip.to; });
    // Neighbours always have a channel.
    if (skip.to > skip.from + 1 && !known) shape.skips.push_back(skip);
  }
  return shape;
}

StagedNetwork::StagedNetwork(Options options)
    : loss_(std::move(options.loss)),
      local_loss_(std::move(options.local_loss)),
      seed_(options.seed),
      captures_(options.captures),
      read_(std::move(options.read)),
      on_update_(std::move(options.on_update)),
      times_(options.chain.layers.size()),
      on_cpu_(std::ranges::all_of(options.devices, [](at::Device d) { return d.is_cpu(); })),
      store_({.chain = options.chain,
              .cuts = std::move(options.cuts),
              .devices = std::move(options.devices),
              .optimizer = options.optimizer,
              .stage_rates = std::move(options.stage_rates)}),
      ranks_(std::move(options.ranks)),
      routes_(RoutesFor(ranks_)) {
  Begin(std::move(options.plan), options.first_sample);
  BeginStates();
}

void StagedNetwork::BeginStates() {
  if (!ranks_) return;
  if (ranks_->own_rank == 0) {
    states_ = std::make_unique<RankStates>(*ranks_, store_, on_update_);
  } else {
    follows_ = std::make_unique<FollowerState>(*ranks_, store_);
  }
}

void StagedNetwork::Begin(Plan plan, std::int64_t first_sample) {
  running_plan_ = std::make_unique<RunningPlan>(std::move(plan), first_sample);
  const Plan& running = running_plan_->plan;
  MILLRACE_CHECK(loss_ != nullptr || !running.IsOwn(stage_count()));
  for (int stage = 1; stage < stage_count(); ++stage) {
    running_plan_->channels.Count(store_.stage(stage).outgoing(), cuts());
  }
  if (ranks_ && ranks_->own_rank == 0) {
    admissions_ = std::make_unique<AdmissionSender>(running, *ranks_, *routes_);
  }
  for (int stage = 1; stage <= stage_count(); ++stage) {
    runners_.emplace_back();
    ports_.emplace_back();
    if (!running.IsOwn(stage)) {
      MILLRACE_CHECK(ranks_.has_value());
      ports_.back() = std::make_unique<StagePort>(stage, *ranks_, *routes_, *running_plan_);
      continue;
    }
    const StageFigures figures = WalkStage(running_plan_->plan, stage);
    Optimizer& optimizer = store_.optimizer(stage);
    optimizer.set_delay(std::max(figures.staleness, figures.gradient_age));
    const StageRunner::Parts parts{.stage = store_.stage(stage),
                                   .device = store_.DeviceOf(stage),
                                   .cuts = cuts(),
                                   .loss = loss_.get(),
                                   .local_loss = local_loss_.get(),
                                   .optimizer = optimizer,
                                   .not_finite = store_.gradients_not_finite(),
                                   .parameter_lock = store_.parameter_lock(stage),
                                   .seed = seed_,
                                   .captures = captures_};
    runners_.back() = std::make_unique<StageRunner>(stage, parts, *running_plan_);
  }
}

void StagedNetwork::EndPlan() {
  for (const auto& runner : runners_) {
    if (runner != nullptr) runner->DropGradients();
  }
  runners_.clear();
  ports_.clear();
}

void StagedNetwork::Switch(Plan plan, std::int64_t first_sample, const Cuts& cuts) {
  EndPlan();
  if (cuts != store_.cuts()) store_.Cut(cuts);
  Begin(std::move(plan), first_sample);
}

void StagedNetwork::SetOptimizer(const OptimizerOptions& optimizer) {
  EndPlan();  // Runners refer to the optimizers.
  store_.SetOptimizer(optimizer);
  Plan plan = running_plan_->plan;
  Begin(std::move(plan), running_plan_->first_sample);
}

void StagedNetwork::AbortTransfers(const absl::Status& cause) {
  if (ranks_) ranks_->wires.Abort(cause);
}

void StagedNetwork::LeaveRanks() {
  states_.reset();
  admissions_.reset();
  EndPlan();
  routes_.reset();
  ranks_.reset();
}

void StagedNetwork::JoinRanks(RankWires ranks, Plan plan, std::int64_t first_sample) {
  ranks_.emplace(std::move(ranks));
  routes_ = RoutesFor(ranks_);
  Begin(std::move(plan), first_sample);
  BeginStates();
}

// Other threads of this rank may wait for tensors that will never come.
template <typename Task>
auto StagedNetwork::AbortIfItThrows(const Task& task) {
  try {
    return RethrowAsStepError(task);
  } catch (const StepError& e) {
    AbortTransfers(absl::Status(e.code(), e.what()));
    throw;
  }
}

void StagedNetwork::Admit(std::int64_t sample, const at::Tensor& input) {
  AbortIfItThrows([&] { Write(sample, input); });
}

void StagedNetwork::Write(std::int64_t sample, const at::Tensor& input) {
  const double rate_scale = rate_scale_;
  running_plan_->rate_scales.Set(sample, rate_scale);
  if (admissions_ != nullptr) {
    ThrowUnlessOk(admissions_->Send(running_plan_->first_sample + sample, rate_scale, input));
  }
  Tensors read;  // One per device.
  for (const auto& rings : running_plan_->channels.all()) {
    if (rings->channel.from != 0 || !plan().IsOwn(rings->channel.to)) continue;
    const at::Device device = store_.DeviceOf(rings->channel.to);
    const auto* found = std::ranges::find(read, device, &at::Tensor::device);
    if (found == read.end()) {
      const at::Tensor there = ToDevice(input, device);
      read.push_back(read_ ? read_(there) : there);
      found = read.end() - 1;
    }
    rings->forward.Write(sample, {.tensors = {*found}});
  }
}

absl::Status StagedNetwork::Announce(MessageKind kind, std::int64_t next) {
  return admissions_ != nullptr ? admissions_->Stop(kind, next) : absl::OkStatus();
}

absl::Status StagedNetwork::GatherState(MessageKind pause_or_end) {
  if (follows_ != nullptr) return follows_->SendSettled(pause_or_end == MessageKind::kEnd);
  return states_ != nullptr ? states_->AwaitSettled() : absl::OkStatus();
}

absl::Status StagedNetwork::SpreadState() {
  if (follows_ != nullptr) return follows_->Take();
  return states_ != nullptr ? states_->HandOut() : absl::OkStatus();
}

bool StagedNetwork::Run(const Step& step) {
  return AbortIfItThrows([&] { return RunHere(step); });
}

bool StagedNetwork::RunHere(const Step& step) {
  if (StagePort* const port = ports_.at(step.stage - 1).get(); port != nullptr) {
    port->Run(step);
    return false;
  }
  StageRunner& runner = *runners_.at(step.stage - 1);
  switch (step.kind) {
    case OperationKind::kForward:
      runner.Forward(step);
      return true;
    case OperationKind::kBackward:
      return runner.Backward(step);
    case OperationKind::kWeightGradient:
      return runner.WeightGradient(step);
    case OperationKind::kUpdate:
      return Update(runner, step);
  }
  MILLRACE_CHECK(false);
}

bool StagedNetwork::Update(StageRunner& runner, const Step& step) {
  const bool worked = runner.Update(running_plan_->rate_scales.Of(step.last));
  Step in_stream = step;
  in_stream.first += running_plan_->first_sample;
  in_stream.last += running_plan_->first_sample;
  if (on_update_) on_update_(in_stream);
  if (follows_ != nullptr) ThrowUnlessOk(follows_->SendCopyIfDue(in_stream));
  return worked;
}

std::vector<std::string> StagedNetwork::why_not_captured() const {
  std::vector<std::string> why;
  for (const auto& runner : runners_) {
    why.push_back(runner != nullptr ? runner->why_not_captured() : "");
  }
  return why;
}

ObserveOperation StagedNetwork::Observer() {
  return [this](const PastOperation& operation, bool worked) {
    if (worked) times_.Add(operation.step, operation.end - operation.start);
  };
}

RankWork StagedNetwork::rank_work() const {
  RankWork work{.stages = worked()};
  if (routes_ != nullptr) work.sent.assign(routes_->sent().begin(), routes_->sent().end());
  return work;
}

std::vector<StageTime> StagedNetwork::worked() const {
  return on_cpu_ ? times_.Of(store_.updates().size()) : std::vector<StageTime>();
}

}  // namespace millrace::pipeline
