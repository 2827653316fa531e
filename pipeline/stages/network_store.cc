#include "pipeline/stages/network_store.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/check.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/nn/tensor_snapshot.h"

namespace millrace::pipeline {
namespace {

// An optimizer changes its state in place, and `layers` may be restored again.
std::vector<OptimizerState> CopiesOfOptimizerStates(const std::vector<LayerState>& layers) {
  std::vector<OptimizerState> copies;
  for (const LayerState& layer : layers) {
    copies.push_back(layer.optimizer);
    for (auto& of_parameter : copies.back().of_parameters) {
      of_parameter = CopiesOnHost(of_parameter);
    }
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

NetworkStore::NetworkStore(Options options)
    : chain_(options.chain),
      stage_rates_(std::move(options.stage_rates)),
      devices_(std::move(options.devices)),
      optimizer_(options.optimizer) {
  const MutexLock lock(mu_);
  MakeStages(options.cuts);
}

at::Device NetworkStore::DeviceOf(int stage) const { return DeviceOfStage(devices_, stage); }

Optimizer& NetworkStore::optimizer(int stage) const {
  const MutexLock lock(mu_);
  return *optimizers_[stage - 1];
}

void NetworkStore::MakeStages(const Cuts& cuts) {
  cuts_ = cuts;
  stages_ = CutIntoStages(chain_, cuts);
  parameter_locks_.clear();
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    parameter_locks_.push_back(std::make_unique<StageParameterLock>());
  }
  MILLRACE_CHECK(stage_rates_.empty() || stage_rates_.size() == stages_.size());
  MILLRACE_CHECK(CheckDeviceCount(devices_.size(), stage_count()).ok());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    for (int layer = stages_[i].first(); layer <= stages_[i].last(); ++layer) {
      MoveTo(DeviceOf(static_cast<int>(i) + 1), *chain_.layers[layer]);
    }
  }
  optimizers_ = MakeOptimizers(optimizer_);
  AwaitDevices();
}

NetworkStore::Optimizers NetworkStore::MakeOptimizers(const OptimizerOptions& options) const {
  Optimizers optimizers;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    OptimizerOptions own = options;
    if (!stage_rates_.empty()) own.learning_rate *= stage_rates_[i];
    optimizers.push_back(MakeOptimizer(own, stages_[i].parameters()));
  }
  return optimizers;
}

// Does not wait for whole GPUs: another thread may be capturing a stream of theirs.
void NetworkStore::AwaitDevices() const {
  for (const at::Device device : devices_) AwaitStream(device);
}

// A stage visits its layers' parameters in the order of the chain, and so does its optimizer.
std::vector<OptimizerState> NetworkStore::OptimizerStates(std::size_t stage) const {
  Optimizer& optimizer = *optimizers_[stage];
  const std::int64_t known = optimizer.counts().skipped;
  const OptimizerState whole = optimizer.state();
  gradients_not_finite_ += whole.counts.skipped - known;  // What a GPU has refused meanwhile.
  auto next = whole.of_parameters.begin();
  std::vector<OptimizerState> of_layers;
  for (int layer = stages_[stage].first(); layer <= stages_[stage].last(); ++layer) {
    const auto parameters = static_cast<std::ptrdiff_t>(chain_.layers[layer]->parameters().size());
    of_layers.push_back({.of_parameters = {next, next + parameters}, .counts = whole.counts});
    next += parameters;
  }
  return of_layers;
}

std::vector<OptimizerState> NetworkStore::OptimizerStates() const {
  std::vector<OptimizerState> of_layers;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    std::ranges::move(OptimizerStates(i), std::back_inserter(of_layers));
  }
  return of_layers;
}

void NetworkStore::SetOptimizerStates(std::span<const OptimizerState> of_layers,
                                      const Optimizers& optimizers) const {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const int first = stages_[i].first();
    SetOptimizerState(of_layers.subspan(first, stages_[i].last() + 1 - first), *optimizers[i]);
  }
}

void NetworkStore::SetOptimizerState(std::span<const OptimizerState> of_layers,
                                     Optimizer& optimizer) {
  OptimizerState state{.counts = optimizer.counts()};
  for (const OptimizerState& own : of_layers) {
    state.counts.updates = std::max(state.counts.updates, own.counts.updates);
    state.counts.skipped = std::max(state.counts.skipped, own.counts.skipped);
    state.of_parameters.insert(state.of_parameters.end(), own.of_parameters.begin(),
                               own.of_parameters.end());
  }
  optimizer.set_state(state);
}

void NetworkStore::Cut(const Cuts& cuts) {
  MILLRACE_CHECK(stage_rates_.empty());
  const MutexLock cut_lock(cut_mu_);
  const MutexLock lock(mu_);
  const std::vector<OptimizerState> of_layers = OptimizerStates();
  MakeStages(cuts);
  SetOptimizerStates(of_layers, optimizers_);
  AwaitDevices();
}

void NetworkStore::SetOptimizer(const OptimizerOptions& optimizer) {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(OptimizerStateInWords(optimizer) == OptimizerStateInWords(optimizer_));
  OptimizerOptions next = optimizer;
  next.learning_rate = optimizer_.learning_rate;
  Optimizers made = MakeOptimizers(next);
  SetOptimizerStates(OptimizerStates(), made);
  AwaitDevices();
  optimizers_ = std::move(made);
  optimizer_ = next;
}

std::vector<LayerState> NetworkStore::Save(int stage) const {
  std::vector<OptimizerState> optimizers;
  {
    const MutexLock lock(mu_);
    optimizers = OptimizerStates(stage - 1);
  }
  std::vector<LayerState> layers;
  int layer = stages_[stage - 1].first();
  for (OptimizerState& optimizer : optimizers) {
    for (auto& of_parameter : optimizer.of_parameters) of_parameter = CopiesOnHost(of_parameter);
    layers.push_back(ValuesOf(*chain_.layers[layer++]));
    layers.back().optimizer = std::move(optimizer);
  }
  return layers;
}

std::vector<LayerState> NetworkStore::Save() const {
  std::vector<LayerState> layers;
  for (int stage = 1; stage <= stage_count(); ++stage) {
    std::ranges::move(Save(stage), std::back_inserter(layers));
  }
  return layers;
}

NetworkStore::Values NetworkStore::Newest() const {
  const MutexLock lock(cut_mu_);
  Values newest;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageParameterLock::Read read(*parameter_locks_[i]);
    for (int layer = stages_[i].first(); layer <= stages_[i].last(); ++layer) {
      newest.layers.push_back(ValuesOf(*chain_.layers[layer]));
    }
    const MutexLock counts_lock(mu_);
    newest.updates = optimizers_[i]->counts().updates;
  }
  return newest;
}

void NetworkStore::Restore(const std::vector<LayerState>& layers) {
  const MutexLock cut_lock(cut_mu_);
  RestoreValues(layers, chain_);
  const std::vector<OptimizerState> of_layers = CopiesOfOptimizerStates(layers);
  const MutexLock lock(mu_);
  SetOptimizerStates(of_layers, optimizers_);
  AwaitDevices();
}

void NetworkStore::Restore(int stage, const std::vector<LayerState>& layers) {
  const Stage& restored = stages_[stage - 1];
  MILLRACE_CHECK(static_cast<int>(layers.size()) == restored.last() + 1 - restored.first());
  const std::vector<OptimizerState> of_layers = CopiesOfOptimizerStates(layers);
  const StageParameterLock::Update update(parameter_lock(stage), DeviceOf(stage));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    RestoreValues(layers[i], *chain_.layers[restored.first() + i]);
  }
  const MutexLock lock(mu_);
  SetOptimizerState(of_layers, *optimizers_[stage - 1]);
}

std::vector<std::int64_t> NetworkStore::updates() const {
  const MutexLock lock(mu_);
  std::vector<std::int64_t> updates;
  updates.reserve(optimizers_.size());
  for (const auto& optimizer : optimizers_) updates.push_back(optimizer->counts().updates);
  return updates;
}

std::vector<std::optional<double>> NetworkStore::update_cosines() const {
  std::vector<std::optional<double>> cosines;
  const MutexLock lock(mu_);
  if (!optimizer_.measures_cosine) return cosines;
  cosines.reserve(optimizers_.size());
  for (const auto& optimizer : optimizers_) cosines.push_back(optimizer->update_cosine());
  return cosines;
}

}  // namespace millrace::pipeline
