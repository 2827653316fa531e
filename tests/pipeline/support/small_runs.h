// How tests run a small network under a schedule: in the engine with random pauses, and serially as
// the oracle.
#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "pipeline/device/device_streams.h"
#include "pipeline/engine/phased_engine.h"
#include "pipeline/plan/serial_run.h"
#include "pipeline/schedules/building_blocks.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/staged_network.h"
#include "tests/pipeline/support/small_chain.h"
#include "tests/pipeline/support/without_bounds.h"

namespace millrace::pipeline {

// The result of a run: every output and every weight.
struct Outcome {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> parameters;
  std::vector<std::int64_t> updates;
  std::vector<at::Tensor> buffers = {};
  std::vector<std::string> why_not_captured = {};
};

inline void ExpectEqual(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    ASSERT_TRUE(at::equal(a.outputs[i], b.outputs[i])) << "output of sample " << i;
  }
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(a.parameters[i], b.parameters[i])) << "parameter " << i;
  }
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (std::size_t i = 0; i < a.buffers.size(); ++i) {
    EXPECT_TRUE(at::equal(a.buffers[i], b.buffers[i])) << "buffer " << i;
  }
  EXPECT_EQ(a.updates, b.updates);
}

inline std::vector<at::Tensor> Values(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  copies.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.detach().cpu().clone());
  return copies;
}

inline Cuts EvenCuts(int stages) {
  Cuts cuts;
  for (int stage = 1; stage < stages; ++stage) cuts.push_back(stage * kSmallLayers / stages);
  return cuts;
}

inline at::Tensor LossByInput(const StageOutput& output) {
  return SmallLoss(output.input, output.output);
}

inline std::unique_ptr<Loss> ByInput() { return std::make_unique<FunctionLoss>(LossByInput); }

// Keeps copies of the outputs, in the order of the samples.
inline std::unique_ptr<Loss> RecordingOutputs(FunctionLoss::Objective objective,
                                              std::vector<at::Tensor>& outputs) {
  return std::make_unique<FunctionLoss>(
      std::move(objective), [&outputs](const StageOutput& output, const LossValue&) {
        EXPECT_EQ(output.sample, static_cast<std::int64_t>(outputs.size()));
        outputs.push_back(output.output.detach().cpu().clone());
      });
}

// A small network and its plans.
struct SmallRun {
  std::string schedule;
  int stages = 1;
  ScheduleRequest request = {};  // Its shape and costs are filled in.
  OptimizerOptions optimizer = {.learning_rate = 1e-3};
  bool with_skip = true;
  LayerChain (*make_chain)() = nullptr;  // Instead: another chain of kSmallLayers layers.
  bool splits_backward = false;          // Of a schedule that does not.
  std::vector<at::Device> devices = {at::kCPU};
  bool captures = false;

  [[nodiscard]] LayerChain Chain() const {
    return make_chain != nullptr ? make_chain() : SmallChain(with_skip);
  }
  [[nodiscard]] Phases PhasesFor(const LayerChain& chain) const {
    ScheduleRequest complete = request;
    complete.shape = ShapeOf(chain, EvenCuts(stages));
    complete.costs.assign(stages, kAssumedCost);
    auto phases = MakePhases(schedule, complete);
    EXPECT_TRUE(phases.ok()) << phases.status();
    if (splits_backward) {
      for (Phase& phase : *phases) SplitBackwards(phase.plan);
    }
    return *phases;
  }
  [[nodiscard]] StagedNetwork::Options OptionsFor(const LayerChain& chain, Plan plan,
                                                  std::vector<at::Tensor>& outputs) const {
    return {.chain = chain,
            .cuts = EvenCuts(stages),
            .devices = devices,
            .plan = std::move(plan),
            .loss = RecordingOutputs(LossByInput, outputs),
            .local_loss = ByInput(),
            .optimizer = optimizer,
            .captures = captures};
  }
};

inline Outcome InTheEngine(const SmallRun& run, const std::vector<at::Tensor>& inputs) {
  Outcome outcome;
  const LayerChain chain = run.Chain();
  const Phases phases = run.PhasesFor(chain);
  StagedNetwork network(run.OptionsFor(chain, phases.front().plan, outcome.outputs));
  auto engine = PhasedEngine::Start(
      {.phases = phases,
       .run =
           [&network](const Step& step) {
             thread_local std::mt19937 random(std::random_device{}());
             std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
             return network.Run(step);
           },
       .on_worker_start = [](int /*device*/) { at::set_num_threads(1); },
       .make_devices = MakeDeviceStreams(run.devices),
       .on_switch = [&](const Phase& p) { network.Switch(p.plan, p.first_sample); }});
  EXPECT_TRUE(engine.ok()) << engine.status();
  for (const at::Tensor& input : inputs) {
    const auto admitted = (*engine)->Admit([&](std::int64_t n) { network.Admit(n, input); });
    EXPECT_TRUE(admitted.ok()) << admitted.status();
  }
  const absl::Status drained = (*engine)->Drain();
  EXPECT_TRUE(drained.ok()) << drained;
  outcome.parameters = Values(WholeChain(chain).parameters());
  outcome.buffers = Values(WholeChain(chain).buffers());
  outcome.updates = network.updates();
  outcome.why_not_captured = network.why_not_captured();
  return outcome;
}

// With the optimizer's options `after` from sample `change_at` on.
inline Outcome InTheEngineChangingTo(const OptimizerOptions& after, int change_at,
                                     const SmallRun& run, const std::vector<at::Tensor>& inputs) {
  Outcome outcome;
  const LayerChain chain = run.Chain();
  const Phases phases = run.PhasesFor(chain);
  auto made = NetworkRun::Start(
      {.network = run.OptionsFor(chain, phases.front().plan, outcome.outputs), .phases = phases});
  EXPECT_TRUE(made.ok()) << made.status();
  NetworkRun& network_run = **made;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (i == change_at) {
      EXPECT_TRUE(network_run.SetOptimizer(after).ok());
    }
    EXPECT_TRUE(network_run.AwaitRoom().ok());
    EXPECT_TRUE(network_run.Admit([&] { return inputs[i]; }).ok());
  }
  EXPECT_TRUE(network_run.Drain().ok());
  outcome.parameters = Values(WholeChain(chain).parameters());
  outcome.updates = network_run.network().updates();
  outcome.why_not_captured = network_run.network().why_not_captured();
  return outcome;
}

inline Outcome Serially(const SmallRun& run, const std::vector<at::Tensor>& inputs) {
  Outcome outcome;
  const LayerChain chain = run.Chain();
  const Phases phases = run.PhasesFor(chain);
  const auto all = static_cast<std::int64_t>(inputs.size());
  const auto roomy = [&](std::size_t i) {
    return WithoutBounds(phases[i].plan, static_cast<int>(all));
  };
  StagedNetwork network(run.OptionsFor(chain, roomy(0), outcome.outputs));
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::int64_t first = phases[i].first_sample;
    const std::int64_t end = i + 1 < phases.size() ? phases[i + 1].first_sample : all;
    if (i > 0) network.Switch(roomy(i), first);
    for (std::int64_t n = first; n < end; ++n) network.Admit(n - first, inputs[n]);
    RunSerially(roomy(i), end - first, [&network](const Step& step) { network.Run(step); });
  }
  outcome.parameters = Values(WholeChain(chain).parameters());
  outcome.buffers = Values(WholeChain(chain).buffers());
  outcome.updates = network.updates();
  return outcome;
}

}  // namespace millrace::pipeline
