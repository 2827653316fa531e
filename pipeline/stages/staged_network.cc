#include "pipeline/stages/staged_network.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <ATen/ops/clone.h>

#include "base/check.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/nn/network_values.h"
#include "pipeline/plan/stage_walk.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {

namespace {

std::vector<at::Tensor> Copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  copies.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    copies.push_back(tensor.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true));
  }
  return copies;
}

}  // namespace

std::vector<Stage> CutIntoStages(const LayerChain& chain, const Cuts& cuts) {
  const int layers = static_cast<int>(chain.layers.size());
  std::vector<Stage> stages;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const int first = i == 0 ? 0 : cuts[i - 1];
    const int last = (i == cuts.size() ? layers : cuts[i]) - 1;
    stages.emplace_back(chain, first, last);
  }
  return stages;
}

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
    : chain_(options.chain),
      loss_(std::move(options.loss)),
      local_loss_(std::move(options.local_loss)),
      seed_(options.seed),
      optimizer_(options.optimizer),
      learning_rates_(std::move(options.learning_rates)),
      devices_(std::move(options.devices)),
      captures_(options.captures),
      read_(std::move(options.read)),
      on_update_(std::move(options.on_update)),
      times_(options.chain.layers.size()) {
  Cut(options.cuts);
  Begin(std::move(options.plan), options.first_sample);
}

void StagedNetwork::Cut(const Cuts& cuts) {
  cuts_ = cuts;
  stages_ = CutIntoStages(chain_, cuts);
  parameter_locks_.clear();
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    parameter_locks_.push_back(std::make_unique<StageParameterLock>());
  }
  MILLRACE_CHECK(learning_rates_.empty() || learning_rates_.size() == stages_.size());
  MILLRACE_CHECK(CheckDeviceCount(devices_.size(), stage_count()).ok());
  optimizers_.clear();
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    for (int layer = stages_[i].first(); layer <= stages_[i].last(); ++layer) {
      MoveTo(DeviceOf(i), *chain_.layers[layer]);
    }
    OptimizerOptions own = optimizer_;
    if (!learning_rates_.empty()) own.learning_rate = learning_rates_[i];
    optimizers_.push_back(MakeOptimizer(own, stages_[i].parameters()));
  }
  AwaitDevices();
}

// Does not wait for whole GPUs: another thread may be capturing a stream of theirs.
void StagedNetwork::AwaitDevices() const {
  for (const at::Device device : devices_) AwaitStream(device);
}

// A stage visits its layers' parameters in the order of the chain, and so does its optimizer.
std::vector<OptimizerState> StagedNetwork::OptimizerStates(std::size_t stage) const {
  const OptimizerState whole = optimizers_[stage]->state();
  auto next = whole.of_parameters.begin();
  std::vector<OptimizerState> of_layers;
  for (int layer = stages_[stage].first(); layer <= stages_[stage].last(); ++layer) {
    const auto parameters = static_cast<std::ptrdiff_t>(chain_.layers[layer]->parameters().size());
    of_layers.push_back({.of_parameters = {next, next + parameters},
                         .updates = whole.updates,
                         .skipped = whole.skipped});
    next += parameters;
  }
  return of_layers;
}

void StagedNetwork::SetOptimizerStates(std::span<const OptimizerState> of_layers) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    OptimizerState state{.updates = optimizers_[i]->updates(),
                         .skipped = optimizers_[i]->skipped()};
    for (int layer = stages_[i].first(); layer <= stages_[i].last(); ++layer) {
      const OptimizerState& own = of_layers[layer];
      state.updates = std::max(state.updates, own.updates);
      state.skipped = std::max(state.skipped, own.skipped);
      state.of_parameters.insert(state.of_parameters.end(), own.of_parameters.begin(),
                                 own.of_parameters.end());
    }
    optimizers_[i]->set_state(state);
  }
}

void StagedNetwork::CutAgain(const Cuts& cuts) {
  MILLRACE_CHECK(learning_rates_.empty());
  std::vector<OptimizerState> of_layers;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    std::ranges::move(OptimizerStates(i), std::back_inserter(of_layers));
  }
  const std::int64_t refused = RefusedOnGpus();
  Cut(cuts);
  SetOptimizerStates(of_layers);
  refused_elsewhere_ += RefusedOnGpus() - refused;
  AwaitDevices();
}

std::vector<LayerState> StagedNetwork::Save(int stage) const {
  std::vector<OptimizerState> optimizers;
  {
    const MutexLock lock(mu_);
    optimizers = OptimizerStates(stage - 1);
  }
  std::vector<LayerState> layers;
  int layer = stages_[stage - 1].first();
  for (OptimizerState& optimizer : optimizers) {
    for (auto& of_parameter : optimizer.of_parameters) of_parameter = Copies(of_parameter);
    layers.push_back({.parameters = Copies(chain_.layers[layer]->parameters()),
                      .buffers = Copies(chain_.layers[layer]->buffers()),
                      .optimizer = std::move(optimizer)});
    ++layer;
  }
  return layers;
}

std::vector<LayerState> StagedNetwork::Save() const {
  std::vector<LayerState> layers;
  for (int stage = 1; stage <= stage_count(); ++stage) {
    std::ranges::move(Save(stage), std::back_inserter(layers));
  }
  return layers;
}

StagedNetwork::Values StagedNetwork::Newest() const {
  const MutexLock lock(cut_mu_);
  Values newest;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageParameterLock::Read read(*parameter_locks_[i]);
    for (int layer = stages_[i].first(); layer <= stages_[i].last(); ++layer) {
      newest.layers.push_back({.parameters = Copies(chain_.layers[layer]->parameters()),
                               .buffers = Copies(chain_.layers[layer]->buffers())});
    }
    const MutexLock counts_lock(mu_);
    newest.updates = optimizers_[i]->updates();
  }
  return newest;
}

void StagedNetwork::Restore(const std::vector<LayerState>& layers) {
  const MutexLock cut_lock(cut_mu_);
  PutValues(layers, chain_);
  std::vector<OptimizerState> of_layers;
  for (const LayerState& layer : layers) {
    of_layers.push_back(layer.optimizer);
    // An optimizer changes this state in place, and `layers` may be restored again.
    for (auto& of_parameter : of_layers.back().of_parameters) of_parameter = Copies(of_parameter);
  }
  const MutexLock lock(mu_);
  const std::int64_t refused = RefusedOnGpus();
  SetOptimizerStates(of_layers);
  refused_elsewhere_ += RefusedOnGpus() - refused;
  AwaitDevices();
}

void StagedNetwork::Begin(Plan plan, std::int64_t first_sample) {
  running_plan_ = std::make_unique<RunningPlan>(std::move(plan), first_sample);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageFigures figures = WalkStage(running_plan_->plan, static_cast<int>(i) + 1);
    optimizers_[i]->set_delay(std::max(figures.staleness, figures.gradient_age));
    const StageRunner::Parts parts{.stage = stages_[i],
                                   .device = DeviceOf(i),
                                   .cuts = cuts_,
                                   .loss = *loss_,
                                   .local_loss = local_loss_.get(),
                                   .optimizer = *optimizers_[i],
                                   .rate_scale = rate_scale_,
                                   .not_finite = gradients_not_finite_,
                                   .parameter_lock = *parameter_locks_[i],
                                   .seed = seed_,
                                   .captures = captures_};
    runners_.push_back(
        std::make_unique<StageRunner>(static_cast<int>(i) + 1, parts, *running_plan_));
  }
}

void StagedNetwork::Switch(Plan plan, std::int64_t first_sample, const Cuts& cuts) {
  const MutexLock cut_lock(cut_mu_);
  for (const auto& runner : runners_) runner->DropGradients();
  runners_.clear();
  const MutexLock lock(mu_);
  if (cuts != cuts_) CutAgain(cuts);
  Begin(std::move(plan), first_sample);
}

void StagedNetwork::Admit(std::int64_t sample, const at::Tensor& input) {
  Tensors read;  // One per device.
  for (const auto& rings : running_plan_->channels.all()) {
    if (rings->channel.from != 0) continue;
    const at::Device device = DeviceOf(rings->channel.to - 1);
    const auto* found = std::ranges::find(read, device, &at::Tensor::device);
    if (found == read.end()) {
      read.push_back(RethrowAsStepError([&] {
        const at::Tensor there = ToDevice(input, device);
        return read_ ? read_(there) : there;
      }));
      found = read.end() - 1;
    }
    rings->forward.Write(sample, {.tensors = {*found}});
  }
}

bool StagedNetwork::Run(const Step& step) {
  bool worked = true;
  try {
    StageRunner& runner = *runners_.at(step.stage - 1);
    switch (step.kind) {
      case OperationKind::kForward:
        runner.Forward(step);
        break;
      case OperationKind::kBackward:
        worked = runner.Backward(step);
        break;
      case OperationKind::kUpdate:
        worked = runner.Update();
        break;
    }
  } catch (const std::exception& e) {
    throw StepError(FailureOf(e));
  }
  if (step.kind == OperationKind::kUpdate && on_update_) {
    Step in_stream = step;
    in_stream.first += running_plan_->first_sample;
    in_stream.last += running_plan_->first_sample;
    on_update_(in_stream);
  }
  return worked;
}

std::vector<std::string> StagedNetwork::why_not_captured() const {
  std::vector<std::string> why;
  for (const auto& runner : runners_) why.push_back(runner->why_not_captured());
  return why;
}

std::vector<std::int64_t> StagedNetwork::updates() const {
  const MutexLock lock(mu_);
  std::vector<std::int64_t> updates;
  updates.reserve(optimizers_.size());
  for (const auto& optimizer : optimizers_) updates.push_back(optimizer->updates());
  return updates;
}

ObserveOperation StagedNetwork::Observer() {
  return [this](const PastOperation& operation, bool worked) {
    if (worked) times_.Add(operation.step, operation.end - operation.start);
  };
}

std::vector<StageTime> StagedNetwork::worked() const {
  const bool timed = std::ranges::all_of(devices_, [](at::Device d) { return d.is_cpu(); });
  const MutexLock lock(mu_);
  return timed ? times_.Of(optimizers_.size()) : std::vector<StageTime>();
}

std::int64_t StagedNetwork::RefusedOnGpus() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    if (!DeviceOf(i).is_cpu()) count += optimizers_[i]->skipped();
  }
  return count;
}

std::int64_t StagedNetwork::gradients_not_finite() const {
  const MutexLock lock(mu_);
  return gradients_not_finite_ + RefusedOnGpus() - refused_elsewhere_;
}

}  // namespace millrace::pipeline
