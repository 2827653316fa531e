// The pipeline learns the same on a GPU as on the CPU, also with captured graphs.
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/device/device_graphs.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/schedules/schedules.h"
#include "tests/pipeline/gpu/gpu_tests.h"
#include "tests/pipeline/support/norm_layer.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;

class PlacedUnder : public GpuTest, public ::testing::WithParamInterface<std::string> {};

// All stages on one GPU, each on a stream of its own; a GPU between two stages on the CPU; and two
// GPUs where there are two.
std::vector<std::vector<at::Device>> Placements() {
  std::vector<std::vector<at::Device>> placements = {{kGpu}, {at::kCPU, kGpu, at::kCPU}};
  if (c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount() > 1) {
    placements.push_back({kGpu, at::Device(at::kCUDA, 1), kGpu});
  }
  return placements;
}

// Whether each device of the plan has all its stages on one of `devices`.
bool Fits(const SmallRun& run, const std::vector<at::Device>& devices) {
  const bool fits = CheckStreams(run.PhasesFor(run.Chain()).front().plan, devices).ok();
  EXPECT_TRUE(fits || (run.schedule == "delayed" && devices.size() > 1));
  return fits;
}

TEST_P(PlacedUnder, LearnsAsOnTheCpu) {
  const std::vector<at::Tensor> inputs = SmallInputs(30);
  for (const std::vector<at::Device>& devices : Placements()) {
    for (const auto kind : {OptimizerOptions::Kind::kRmsProp, OptimizerOptions::Kind::kAdam}) {
      SmallRun run{
          .schedule = GetParam(), .stages = 3, .optimizer = {.kind = kind, .learning_rate = 1e-3}};
      run.request.switch_at = 17;
      if (!Fits(run, devices)) continue;
      const Outcome on_cpu = Serially(run, inputs);
      run.devices = devices;
      SCOPED_TRACE(testing::Message() << devices.size() << " devices");
      ExpectNear(InTheEngine(run, inputs), on_cpu);
    }
  }
}

// Through all slots several times, and a hybrid captures again after it has switched.
TEST_P(PlacedUnder, LearnsAsOnTheCpuByWhatWasCaptured) {
  const std::vector<at::Tensor> inputs = SmallInputs(80);
  for (const std::vector<at::Device>& devices : Placements()) {
    SmallRun run{.schedule = GetParam(), .stages = 3};
    run.optimizer.kind = OptimizerOptions::Kind::kAdam;
    run.request.switch_at = 37;
    if (!Fits(run, devices)) continue;
    const Outcome on_cpu = Serially(run, inputs);
    run.devices = devices;
    run.captures = true;
    SCOPED_TRACE(testing::Message() << devices.size() << " devices");
    const Outcome on_gpu = InTheEngine(run, inputs);
    ExpectNear(on_gpu, on_cpu);
    EXPECT_THAT(on_gpu.why_not_captured, Each(""));
  }
}

// Its graph is launched one period after its backward's.
TEST_F(GpuTest, AWeightGradientThatComesLaterIsThatOfItsSample) {
  const std::vector<at::Tensor> inputs = SmallInputs(80);
  for (const int stages : {3, 6}) {
    SmallRun run{.schedule = "one_f_one_b_one_w",
                 .stages = stages,
                 .request = {.period = 4},
                 .make_chain = SplitChain};
    const Outcome on_cpu = Serially(run, inputs);
    run.devices = {kGpu};
    run.captures = true;
    const Outcome on_gpu = InTheEngine(run, inputs);
    ExpectNear(on_gpu, on_cpu);
    EXPECT_THAT(on_gpu.why_not_captured, Each("")) << stages;
  }
}

// A sample with values that are not finite changes no weights, wherever it is detected.
TEST_F(GpuTest, WhatIsNoNumberTeachesNothing) {
  std::vector<at::Tensor> inputs = SmallInputs(20);
  inputs[7] = inputs[7] * std::numeric_limits<float>::infinity();
  SmallRun run{.schedule = "one_f_one_b_star", .stages = 3};
  run.optimizer.kind = OptimizerOptions::Kind::kAdam;
  const Outcome on_cpu = Serially(run, inputs);
  run.devices = {kGpu};
  for (const bool captures : {false, true}) {
    run.captures = captures;
    const Outcome on_gpu = InTheEngine(run, inputs);
    for (std::size_t i = 0; i < on_gpu.parameters.size(); ++i) {
      EXPECT_TRUE(Near(on_gpu.parameters[i], on_cpu.parameters[i])) << "parameter " << i;
    }
  }
}

// Another layer, with something besides.
class WrappingLayer : public Layer {
 public:
  explicit WrappingLayer(std::unique_ptr<Layer> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const std::string& name() const override { return inner_->name(); }
  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    LayerValues made = inner_->Forward(inputs);
    OnMade(made);
    return made;
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return inner_->parameters(); }

 private:
  virtual void OnMade(LayerValues& made) const = 0;

  const std::unique_ptr<Layer> inner_;
};

template <typename Wrapping>
LayerChain ChainWithThirdLayerIn() {
  LayerChain chain = SmallChain();
  chain.layers[2] = std::make_unique<Wrapping>(std::move(chain.layers[2]));
  return chain;
}

// Makes the host wait for what it makes.
class AskingLayer final : public WrappingLayer {
  using WrappingLayer::WrappingLayer;
  void OnMade(LayerValues& made) const override {
    made.main = made.main * (made.main.sum().item<double>() > 1e9 ? 2 : 1);
  }
};

// The stage in the middle is not captured, the other stages are, and they learn the same.
TEST_F(GpuTest, AStageThatCannotBeCapturedSaysWhyAndLearnsAllTheSame) {
  const std::vector<at::Tensor> inputs = SmallInputs(40);
  SmallRun run{.schedule = "one_f_one_b_star",
               .stages = 3,
               .make_chain = ChainWithThirdLayerIn<AskingLayer>};
  run.optimizer.kind = OptimizerOptions::Kind::kAdam;
  const Outcome on_cpu = Serially(run, inputs);
  run.devices = {kGpu};
  run.captures = true;
  const Outcome on_gpu = InTheEngine(run, inputs);
  ExpectNear(on_gpu, on_cpu);
  EXPECT_EQ(on_gpu.why_not_captured[0], "");
  EXPECT_NE(on_gpu.why_not_captured[1], "");
  EXPECT_EQ(on_gpu.why_not_captured[2], "");
}

// The threads in which a layer went forward and backward.
struct Threads {
  std::mutex mu;
  std::set<std::thread::id> forward;
  std::set<std::thread::id> backward;
};

Threads& OfThirdLayer() {
  static Threads threads;
  return threads;
}

class NotingLayer final : public WrappingLayer {
  using WrappingLayer::WrappingLayer;
  void OnMade(LayerValues& made) const override {
    Note(OfThirdLayer().forward);
    made.main.register_hook([](const at::Tensor&) { Note(OfThirdLayer().backward); });
  }
  static void Note(std::set<std::thread::id>& threads) {
    const std::lock_guard lock(OfThirdLayer().mu);
    threads.insert(std::this_thread::get_id());
  }
};

// Not in LibTorch's one thread for all backwards of a GPU, where stages wait for each other.
TEST_P(Captured, AStageGoesBackwardInItsOwnThread) {
  OfThirdLayer().forward.clear();
  OfThirdLayer().backward.clear();
  SmallRun run{.schedule = "one_f_one_b_star",
               .stages = 3,
               .make_chain = ChainWithThirdLayerIn<NotingLayer>};
  run.devices = {kGpu};
  run.captures = GetParam();
  static_cast<void>(InTheEngine(run, SmallInputs(20)));
  EXPECT_EQ(OfThirdLayer().forward.size(), 1U);
  EXPECT_EQ(OfThirdLayer().backward, OfThirdLayer().forward);
}

// A graph that is launched again puts its temporary values into its own pool only.
TEST_F(GpuTest, PoolsShareNoMemory) {
  const auto pool = NewGraphPool(kGpu);
  const auto other = NewGraphPool(kGpu);
  ASSERT_TRUE(pool.ok() && other.ok()) << pool.status();
  const c10::StreamGuard guard(
      c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(kGpu));
  const at::Tensor ones = at::full({1 << 10}, 1.0, at::TensorOptions(kGpu).dtype(at::kFloat));
  AwaitStream(kGpu);
  at::Tensor sum;
  at::Tensor threes;
  const auto first = (*pool)->Capture([&] { sum = (ones + 1).sum(); });
  const auto second = (*other)->Capture([&] { threes = ones * 3; });
  second->Launch();
  first->Launch();
  EXPECT_TRUE(at::equal(threes.cpu(), at::full({1 << 10}, 3.0F)));
  EXPECT_EQ(sum.item<float>(), 2 << 10);
}

// What has been learned goes to the CPU and back, and what runs next meets all of it.
TEST_P(Captured, ASavedStateIsPutBack) {
  const std::vector<at::Tensor> inputs = SmallInputs(20);
  SmallRun run{.schedule = "sequential"};
  run.devices = {kGpu};
  run.captures = GetParam();
  run.optimizer.kind = OptimizerOptions::Kind::kAdam;
  const LayerChain chain = run.Chain();
  constexpr int kHalf = 10;
  const Plan plan = WithoutBounds(run.PhasesFor(chain).front().plan, kHalf);
  std::vector<at::Tensor> outputs;
  StagedNetwork network(run.OptionsFor(chain, plan, outputs));
  const auto learn = [&](int begin) {
    const c10::StreamGuard guard(
        c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(kGpu));
    for (int n = 0; n < kHalf; ++n) network.Admit(n, inputs[begin + n]);
    RunSerially(plan, kHalf, [&](const Step& step) { network.Run(step); });
    AwaitStream(kGpu);
  };
  learn(0);
  const std::vector<LayerState> saved = network.store().Save();
  network.Switch(plan, kHalf);
  learn(kHalf);
  const std::vector<at::Tensor> learned = Values(WholeChain(chain).parameters());
  network.Switch(plan, kHalf);
  network.store().Restore(saved);
  outputs.resize(kHalf);
  learn(kHalf);
  const std::vector<at::Tensor> again = Values(WholeChain(chain).parameters());
  for (std::size_t i = 0; i < learned.size(); ++i) {
    EXPECT_TRUE(at::equal(learned[i], again[i])) << i;
  }
}

// A GPU refuses an update by itself. The host learns that from the next save, and counts it once.
TEST_P(Captured, ARefusedUpdateIsCountedOnceBySaves) {
  constexpr int kCount = 10;
  std::vector<at::Tensor> inputs = SmallInputs(kCount);
  inputs[4] = inputs[4] * std::numeric_limits<float>::infinity();
  SmallRun run{.schedule = "sequential"};
  run.devices = {kGpu};
  run.captures = GetParam();
  const LayerChain chain = run.Chain();
  const Plan plan = WithoutBounds(run.PhasesFor(chain).front().plan, kCount);
  std::vector<at::Tensor> outputs;
  StagedNetwork network(run.OptionsFor(chain, plan, outputs));
  {
    const c10::StreamGuard guard(
        c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(kGpu));
    for (int n = 0; n < kCount; ++n) network.Admit(n, inputs[n]);
    RunSerially(plan, kCount, [&](const Step& step) { network.Run(step); });
    AwaitStream(kGpu);
  }
  EXPECT_EQ(network.gradients_not_finite(), 0) << "nothing has asked the GPU";
  const std::vector<LayerState> saved = network.store().Save();
  EXPECT_EQ(saved.front().optimizer.counts.updates, kCount - 1);
  EXPECT_EQ(saved.front().optimizer.counts.skipped, 1);
  EXPECT_EQ(network.gradients_not_finite(), 1);
  network.Switch(plan, kCount);
  network.store().Restore(saved);
  static_cast<void>(network.store().Save());
  EXPECT_EQ(network.gradients_not_finite(), 1) << "a restored count is no new one";
  run.stages = 2;
  network.Switch(run.PhasesFor(chain).front().plan, kCount, EvenCuts(2));
  static_cast<void>(network.store().Save());
  EXPECT_EQ(network.gradients_not_finite(), 1) << "nor are those of two stages of one";
}

LayerChain ChainWithNorms() {
  LayerChain chain = SmallChain();
  for (const int layer : {1, 3}) chain.layers[layer] = std::make_unique<NormLayer>();
  return chain;
}

// Each sample moves them once, also where it goes forward twice; one that is no number moves none.
TEST_P(Captured, RunningAveragesMoveAsOnTheCpu) {
  std::vector<at::Tensor> inputs = SmallInputs(40);
  inputs[20] = inputs[20] * std::numeric_limits<float>::infinity();
  for (const std::string schedule : {"one_f_one_b_star", "recompute"}) {
    SmallRun run{.schedule = schedule, .stages = 3, .make_chain = ChainWithNorms};
    run.optimizer.kind = OptimizerOptions::Kind::kAdam;
    const Outcome on_cpu = Serially(run, inputs);
    run.devices = {kGpu};
    run.captures = GetParam();
    const Outcome on_gpu = InTheEngine(run, inputs);
    for (std::size_t i = 0; i < on_gpu.buffers.size(); ++i) {
      EXPECT_TRUE(Near(on_gpu.buffers[i], on_cpu.buffers[i])) << schedule << ", buffer " << i;
    }
    for (std::size_t i = 0; i < on_gpu.parameters.size(); ++i) {
      EXPECT_TRUE(Near(on_gpu.parameters[i], on_cpu.parameters[i])) << schedule << ", " << i;
    }
    for (const std::string& why : on_gpu.why_not_captured) EXPECT_EQ(why, "");
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, PlacedUnder, ::testing::ValuesIn(ScheduleNames()),
                         [](const auto& test) { return test.param; });

INSTANTIATE_TEST_SUITE_P(OrNot, Captured, ::testing::Bool());

}  // namespace
}  // namespace millrace::pipeline
