// The pipeline on a GPU equals the pipeline on the CPU, to rounding. Skips itself where there is no
// GPU.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/bench.h"
#include "pipeline/bench_networks.h"
#include "pipeline/by_operators.h"
#include "pipeline/convolution.h"
#include "pipeline/cost_profile.h"
#include "pipeline/device_choice.h"
#include "pipeline/device_time.h"
#include "pipeline/flow_loss.h"
#include "pipeline/flow_pictures.h"
#include "pipeline/generated_stream.h"
#include "pipeline/gpu/launch.h"
#include "pipeline/learner.h"
#include "pipeline/match.h"
#include "pipeline/optimizer.h"
#include "pipeline/schedules.h"
#include "pipeline/stage.h"
#include "pipeline/stage_devices.h"
#include "tests/pipeline/norm_layer.h"
#include "tests/pipeline/small_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;

const at::Device kGpu(at::kCUDA, 0);

// CUDA is loaded before LibTorch is asked for anything.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto devices = DevicesNamed({"cuda:0"});
    if (!devices.ok()) GTEST_SKIP() << devices.status().message();
  }
};

// Where it is built, unless it was packed to run elsewhere.
std::string FlowStart() {
  const char* const packed = std::getenv("MILLRACE_FLOW_START");
  return packed != nullptr ? packed : MILLRACE_FLOW_START;
}

bool Near(const at::Tensor& on_gpu, const at::Tensor& on_cpu) {
  return at::allclose(on_gpu.cpu(), on_cpu, /*rtol=*/2e-3, /*atol=*/2e-4);
}

// A function of leaves, and its gradients, on both devices.
template <typename Function>
void ExpectTheSame(const std::vector<at::Tensor>& inputs, const Function& function) {
  const auto run = [&](at::Device device) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) {
      leaves.push_back(input.detach().to(device, false, /*copy=*/true).requires_grad_(true));
    }
    std::vector<at::Tensor> made = {function(leaves)};
    made[0].square().sum().backward();
    for (const at::Tensor& leaf : leaves) made.push_back(leaf.grad());
    return made;
  };
  const std::vector<at::Tensor> on_gpu = run(kGpu);
  const std::vector<at::Tensor> on_cpu = run(at::kCPU);
  for (std::size_t i = 0; i < on_gpu.size(); ++i) {
    EXPECT_EQ(on_gpu[i].device(), kGpu);
    EXPECT_TRUE(Near(on_gpu[i].detach(), on_cpu[i].detach())) << i;
  }
}

TEST_F(GpuTest, ConvolutionsAreThoseOfTheCpu) {
  for (const int stride : {1, 2}) {
    ExpectTheSame({at::randn({2, 8, 10, 12}), at::randn({6, 8, 3, 3}), at::randn({6})},
                  [&](const std::vector<at::Tensor>& x) {
                    return Convolve(x[0], x[1], x[2], {.stride = stride, .slope = 0.1});
                  });
  }
}

TEST_F(GpuTest, MatchesAreThoseOfTheCpu) {
  for (const PicturePairs pairs : kAllPairs) {
    ExpectTheSame(
        {at::randn({PictureCount(pairs), 24, 8, 10}), at::randn({PairCount(pairs), 2, 8, 10})},
        [&](const std::vector<at::Tensor>& x) { return Match(x[0], x[1], pairs); });
  }
}

TEST_F(GpuTest, PicturesAreReadAsOnTheCpu) {
  const at::Tensor bytes = at::randint(0, 256, {3, 5, 7, 3}, at::kByte);
  for (const int channels : {1, 3}) {
    const at::Tensor expected = PlanesOf(bytes, channels);
    EXPECT_EQ(expected.sizes(), (std::vector<std::int64_t>{3, channels, 5, 7}));
    const gpu::Kernels* const kernels = gpu::SetKernels(nullptr);
    const at::Tensor by_operators = PlanesOf(bytes.to(kGpu), channels).cpu();
    gpu::SetKernels(kernels);
    const at::Tensor by_own = PlanesOf(bytes.to(kGpu), channels).cpu();
    EXPECT_TRUE(at::allclose(by_operators, expected, 1e-6, 1e-7)) << channels;
    EXPECT_TRUE(at::allclose(by_own, expected, 1e-6, 1e-7)) << channels;
  }
}

TEST_F(GpuTest, ObjectivesAreThoseOfTheCpu) {
  const at::Tensor pictures = at::randn({2, 1, 16, 20}).sigmoid();
  for (const std::string& name : FlowLossNames()) {
    ExpectTheSame({at::randn({1, 2, 16, 20})}, [&](const std::vector<at::Tensor>& x) {
      return ComputeFlowLoss(pictures.to(x[0].device()), x[0], {.kind = *FlowLossKind(name)})
          .objective;
    });
  }
}

// What a function makes of leaves, and their gradients.
template <typename Function>
std::vector<at::Tensor> ThereAndBack(const std::vector<at::Tensor>& inputs, at::TensorOptions where,
                                     const Function& function) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) {
    leaves.push_back(input.detach().to(where, false, /*copy=*/true).requires_grad_(true));
  }
  std::vector<at::Tensor> made = {function(leaves)};
  // Weights that differ, and are the same everywhere.
  const at::Tensor weights = at::arange(made[0].numel(), at::kDouble).sin().view(made[0].sizes());
  (made[0] * weights.to(where)).sum().backward();
  for (const at::Tensor& leaf : leaves) made.push_back(leaf.grad());
  return made;
}

// To rounding: the greatest difference over the greatest value.
void ExpectClose(const std::vector<at::Tensor>& made, const std::vector<at::Tensor>& expected) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    const at::Tensor difference =
        (made[i].detach().cpu().to(at::kDouble) - expected[i].detach()).abs();
    EXPECT_LE(difference.max().item<double>(), 1e-5 * expected[i].abs().max().item<double>()) << i;
  }
}

TEST_F(GpuTest, MatchesAreTheirDefinitionToRounding) {
  for (const PicturePairs pairs : kAllPairs) {
    for (const auto& [channels, height, width] :
         {std::array{24, 9, 12}, std::array{32, 7, 19}, std::array{5, 2, 3}}) {
      const at::Tensor features = at::randn({PictureCount(pairs), channels, height, width});
      const at::Tensor flow = at::randn({PairCount(pairs), 2, height, width}) * 2;
      for (const std::vector<at::Tensor>& inputs :
           {std::vector{features, flow}, std::vector{features}}) {
        const auto through = [&](const auto& x) { return inputs.size() > 1 ? x[1] : at::Tensor(); };
        const auto match = [&](const auto& x) { return Match(x[0], through(x), pairs); };
        const auto defined = [&](const auto& x) {
          return by_operators::Match(x[0], through(x), pairs);
        };
        ExpectClose(ThereAndBack(inputs, at::TensorOptions(kGpu).dtype(at::kFloat), match),
                    ThereAndBack(inputs, at::kDouble, defined));
      }
    }
  }
}

TEST_F(GpuTest, TheRelativeObjectiveIsThatOfTheCpuToRounding) {
  for (const int channels : {1, 3}) {
    for (const bool occlusion : {false, true}) {
      const FlowLossOptions options{.smoothness = 0.1, .occlusion = occlusion};
      const at::Tensor pictures = at::randn({2, channels, 16, 20}).sigmoid();
      const at::Tensor flow = at::randn({occlusion ? 2 : 1, 2, 16, 20}) * 3;
      std::vector<at::Tensor> terms;
      const auto loss = [&](const std::vector<at::Tensor>& x) {
        const FlowLoss made = ComputeFlowLoss(pictures.to(x[0].options()), x[0], options);
        terms = {made.photometric, made.no_motion};
        for (const FlowLoss::Term& term : made.terms) terms.push_back(term.value);
        return made.objective;
      };
      const auto on_gpu = ThereAndBack({flow}, at::TensorOptions(kGpu).dtype(at::kFloat), loss);
      const std::vector<at::Tensor> gpu_terms = terms;
      ExpectClose(on_gpu, ThereAndBack({flow}, at::kDouble, loss));
      ExpectClose(gpu_terms, terms);
    }
  }
}

struct NamedOptimizer {
  std::string name;
  OptimizerOptions options;
};
void PrintTo(const NamedOptimizer& optimizer, std::ostream* out) { *out << optimizer.name; }

class SteppedBy : public GpuTest, public ::testing::WithParamInterface<NamedOptimizer> {};

// What an optimizer does to two parameters: 200 steps, another learning rate from the middle on,
// and one step with a gradient that is no number.
struct Steps {
  static constexpr int kCount = 200;
  static constexpr int kSpoiled = 60;

  explicit Steps(at::Device device) {
    at::manual_seed(1);
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{4, 3}, {5}}) {
      parameters.push_back(at::randn(shape).to(device).requires_grad_(true));
    }
  }
  void Put(int step) {
    for (at::Tensor& parameter : parameters) {
      at::Tensor gradient = at::randn(parameter.sizes()) * 3;
      if (step == kSpoiled) gradient.view(-1)[2] = std::numeric_limits<float>::quiet_NaN();
      if (parameter.grad().defined()) {
        parameter.mutable_grad().copy_(gradient);
      } else {
        parameter.mutable_grad() = gradient.to(parameter.device());
      }
    }
  }

  std::vector<at::Tensor> parameters;
};

TEST_P(SteppedBy, StepsAsOnTheCpuAndRefusesWhatIsNoNumber) {
  std::vector<std::vector<at::Tensor>> made;
  for (const at::Device device : {at::Device(at::kCPU), kGpu}) {
    Steps steps(device);
    const auto optimizer = MakeOptimizer(GetParam().options, steps.parameters);
    optimizer->set_delay(2);
    for (int i = 0; i < Steps::kCount; ++i) {
      if (i == Steps::kCount / 2) optimizer->set_learning_rate(1e-3);
      steps.Put(i);
      EXPECT_EQ(optimizer->Step(), device == kGpu || i != Steps::kSpoiled);
    }
    EXPECT_EQ(optimizer->state().updates, Steps::kCount - 1);
    EXPECT_EQ(optimizer->state().skipped, 1);
    EXPECT_EQ(optimizer->skipped(), 1);
    made.push_back(Values(steps.parameters));
    for (const auto& kept : optimizer->state().of_parameters) {
      for (const at::Tensor& tensor : Values(kept)) made.back().push_back(tensor);
    }
  }
  ASSERT_EQ(made[0].size(), made[1].size());
  for (std::size_t i = 0; i < made[0].size(); ++i) EXPECT_TRUE(Near(made[1][i], made[0][i])) << i;
}

using Kind = OptimizerOptions::Kind;
INSTANTIATE_TEST_SUITE_P(
    AllOptimizers, SteppedBy,
    ::testing::Values(
        NamedOptimizer{"rmsprop", {.learning_rate = 0.01, .weight_decay = 0.01}},
        NamedOptimizer{"sgd", {.kind = Kind::kSgd, .learning_rate = 0.01, .weight_decay = 0.01}},
        NamedOptimizer{
            "nesterov",
            {.kind = Kind::kSgd, .learning_rate = 0.01, .momentum = 0.9, .nesterov = true}},
        NamedOptimizer{"compensated",
                       {.kind = Kind::kSgd,
                        .learning_rate = 0.01,
                        .momentum = 0.9,
                        .weight_decay = 0.01,
                        .spike_compensation = true}},
        NamedOptimizer{"adam", {.kind = Kind::kAdam, .learning_rate = 0.01, .weight_decay = 0.01}},
        NamedOptimizer{"adamw", {.kind = Kind::kAdamW, .learning_rate = 0.01, .weight_decay = 0.1}},
        NamedOptimizer{"clipped", {.learning_rate = 0.01, .clip_norm = 2}},
        NamedOptimizer{"pipemare", {.learning_rate = 0.01, .pipemare_steps = 150}}),
    [](const auto& test) { return test.param.name; });

// In two streams at the same time, and then in one.
TEST_F(GpuTest, AGpuIsBusyWhileAnyOfItsStreamsIs) {
  const at::Tensor numbers = at::randn({256, 256}).to(kGpu);
  AwaitDevice(kGpu);
  const auto before = std::chrono::steady_clock::now();
  const GpuTimes none(kGpu);
  GpuTimes all(kGpu);
  for (const c10::Stream& stream :
       {CopyStreams({kGpu}).front(), CopyStreams({kGpu}).front(), CopyStreams({kGpu}).front()}) {
    const c10::StreamGuard guard(stream);
    all.Note([&] { static_cast<void>(numbers.mm(numbers)); });
  }
  const std::vector<GpuTimes::Span> busy = all.Busy();
  ASSERT_FALSE(busy.empty());
  EXPECT_LE(busy.size(), 3U);
  auto last = before;
  for (const GpuTimes::Span& span : busy) {
    EXPECT_GE(span.begin, last);
    EXPECT_GT(span.end, span.begin);
    last = span.end;
  }
  EXPECT_TRUE(none.Busy().empty());
  EXPECT_GT(MillisecondsOf(kGpu, [&] { static_cast<void>(numbers.mm(numbers)); }), 0);
}

TEST_F(GpuTest, AGpuThatIsNotThereIsRefused) {
  const absl::Status status = DevicesNamed({"cpu", "cuda:100"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
}

// What `millrace bench --device cuda` measures.
TEST_F(GpuTest, ABenchmarkHoldsKernelByKernelAgainstGraphs) {
  const auto rows = RunBench({.networks = {"conv", "flow", "resnet50"},
                              .schedules = {"one_f_one_b_star"},
                              .stages = {2},
                              .network = {.layers = 4, .channels = 4, .height = 16, .width = 32},
                              .samples = 4,
                              .turns = 2,
                              .device = "cuda:0"},
                             [](const std::string&) {});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 9U);
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const BenchRow& row = (*rows)[i];
    EXPECT_EQ(row.schedule, i % 3 == 0 ? "LibTorch" : "one_f_one_b_star");
    EXPECT_EQ(row.captures, i % 3 == 2);
    for (const BenchTurn& turn : row.turns) {
      EXPECT_GT(turn.samples_per_second, 0);
      EXPECT_GT(turn.gpu_bytes.value_or(0), 0);
      EXPECT_EQ(turn.idle.has_value(), row.captures);
      EXPECT_TRUE(turn.idle.value_or(0) >= 0 && turn.idle.value_or(0) < 1) << *turn.idle;
    }
  }
}

// What a plan is made by: the layers of a network are as large on a GPU as on the CPU.
TEST_F(GpuTest, LayersAreMeasuredOnAGpuToo) {
  const at::Tensor input = SmallInputs(1)[0];
  const auto measured_on = [&](at::Device device) {
    return ProfileLayers(SmallChain(), input,
                         [](const at::Tensor& output) { return output.square().mean(); },
                         {.device = device})
        .layers;
  };
  const std::vector<LayerCosts> on_gpu = measured_on(kGpu);
  const std::vector<LayerCosts> on_cpu = measured_on(at::kCPU);
  for (std::size_t i = 0; i < on_cpu.size(); ++i) {
    EXPECT_EQ(on_gpu[i].weight_bytes, on_cpu[i].weight_bytes) << i;
    EXPECT_EQ(on_gpu[i].output_bytes, on_cpu[i].output_bytes) << i;
    // A GPU's allocator gives memory in pieces.
    EXPECT_GE(on_gpu[i].activation_bytes, on_cpu[i].activation_bytes) << i;
    EXPECT_GT(on_gpu[i].cost.forward, 0) << i;
    EXPECT_GT(on_gpu[i].cost.backward, 0) << i;
  }
}

TEST_F(GpuTest, AutoTakesTheFirstGpu) {
  const absl::StatusOr<DeviceChoice> choice = ChooseDevices({"auto"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->names, std::vector<std::string>{"cuda:0"});
  EXPECT_TRUE(choice->where.starts_with("cuda:0")) << choice->where;
}

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

void ExpectNear(const Outcome& on_gpu, const Outcome& on_cpu) {
  EXPECT_EQ(on_gpu.updates, on_cpu.updates);
  ASSERT_EQ(on_gpu.outputs.size(), on_cpu.outputs.size());
  for (std::size_t i = 0; i < on_gpu.outputs.size(); ++i) {
    EXPECT_TRUE(Near(on_gpu.outputs[i], on_cpu.outputs[i])) << "output of sample " << i;
  }
  for (std::size_t i = 0; i < on_gpu.parameters.size(); ++i) {
    EXPECT_TRUE(Near(on_gpu.parameters[i], on_cpu.parameters[i])) << "parameter " << i;
  }
}

TEST_P(PlacedUnder, LearnsAsOnTheCpu) {
  const std::vector<at::Tensor> inputs = SmallInputs(30);
  for (const std::vector<at::Device>& devices : Placements()) {
    for (const auto kind : {OptimizerOptions::Kind::kRmsProp, OptimizerOptions::Kind::kAdam}) {
      SmallRun run{
          .schedule = GetParam(), .stages = 3, .optimizer = {.kind = kind, .learning_rate = 1e-3}};
      run.request.switch_at = 17;
      const Outcome on_cpu = Serially(run, inputs);
      run.devices = devices;
      SCOPED_TRACE(testing::Message() << devices.size() << " devices");
      ExpectNear(InTheEngine(run, inputs), on_cpu);
    }
  }
}

// Through all lanes several times, and a hybrid captures again after it has switched.
TEST_P(PlacedUnder, LearnsAsOnTheCpuByWhatWasCaptured) {
  const std::vector<at::Tensor> inputs = SmallInputs(80);
  for (const std::vector<at::Device>& devices : Placements()) {
    SmallRun run{.schedule = GetParam(), .stages = 3};
    run.optimizer.kind = OptimizerOptions::Kind::kAdam;
    run.request.switch_at = 37;
    const Outcome on_cpu = Serially(run, inputs);
    run.devices = devices;
    run.captures = true;
    SCOPED_TRACE(testing::Message() << devices.size() << " devices");
    const Outcome on_gpu = InTheEngine(run, inputs);
    ExpectNear(on_gpu, on_cpu);
    EXPECT_THAT(on_gpu.why_not_captured, Each(""));
  }
}

// A sample that is no number teaches nobody, wherever it is found out.
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

// Makes the host wait for what it makes.
class AskingLayer final : public Layer {
 public:
  explicit AskingLayer(std::unique_ptr<Layer> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const std::string& name() const override { return inner_->name(); }
  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    LayerValues made = inner_->Forward(inputs);
    made.main = made.main * (made.main.sum().item<double>() > 1e9 ? 2 : 1);
    return made;
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return inner_->parameters(); }

 private:
  const std::unique_ptr<Layer> inner_;
};

LayerChain ChainThatAsks() {
  LayerChain chain = SmallChain();
  chain.layers[2] = std::make_unique<AskingLayer>(std::move(chain.layers[2]));
  return chain;
}

// The stage in the middle goes without, those around it do not, and what they learn is the same.
TEST_F(GpuTest, AStageThatCannotBeCapturedSaysWhyAndLearnsAllTheSame) {
  const std::vector<at::Tensor> inputs = SmallInputs(40);
  SmallRun run{.schedule = "one_f_one_b_star", .stages = 3, .make_chain = ChainThatAsks};
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

class Captured : public GpuTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(OrNot, Captured, ::testing::Bool());

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
    AwaitDevice(kGpu);
  };
  learn(0);
  const std::vector<LayerState> saved = network.Save();
  network.Switch(plan, kHalf);
  learn(kHalf);
  const std::vector<at::Tensor> learned = Values(WholeChain(chain).parameters());
  network.Switch(plan, kHalf);
  network.Restore(saved);
  outputs.resize(kHalf);
  learn(kHalf);
  const std::vector<at::Tensor> again = Values(WholeChain(chain).parameters());
  for (std::size_t i = 0; i < learned.size(); ++i) {
    EXPECT_TRUE(at::equal(learned[i], again[i])) << i;
  }
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

// The losses of the whole learner of optical flow, from weights that have learned: RMSprop makes a
// step of the same length of gradients that are nothing but rounding, and there are many of those
// at first.
std::vector<float> LossesOf(const std::string& device, bool captures,
                            Precision precision = Precision::kFloat32) {
  constexpr int kSide = 64;
  constexpr int kPairs = 40;
  std::mutex mu;
  std::vector<float> losses;
  auto learner = MakeFlowLearner(
      {.width = kSide,
       .height = kSide,
       .stages = 2,
       .cuts = {6},
       .period_ms = 0.001,
       .weights = FlowStart(),
       .precision = precision,
       .devices = {device},
       .captures = captures,
       .on_not_captured = [](int stage,
                             const std::string& why) { ADD_FAILURE() << stage << ": " << why; }},
      [&](const ModelPrediction& prediction) {
        const std::lock_guard lock(mu);
        losses.push_back(prediction.loss);
      });
  EXPECT_TRUE(learner.ok()) << learner.status();
  GeneratedStream stream({.width = kSide, .height = kSide});
  for (int i = 0; i < kPairs; ++i) {
    const GeneratedPair pair = stream.Next();
    EXPECT_TRUE((*learner)->AwaitRoom().ok());
    EXPECT_TRUE(
        (*learner)->Admit({.previous = pair.previous_rgb, .current = pair.current_rgb}).ok());
  }
  EXPECT_TRUE((*learner)->Drain().ok());
  return losses;
}

void ExpectNear(const std::vector<float>& made, const std::vector<float>& expected, float share) {
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_NEAR(made[i], expected[i], share * expected[i]) << i;
  }
}

TEST_P(Captured, TheLearnerOfOpticalFlowLearnsAsOnTheCpu) {
  ExpectNear(LossesOf("cuda:0", GetParam()), LossesOf("cpu", false), 0.03F);
}

TEST_P(Captured, InBfloat16TheLearnerOfOpticalFlowLearnsNearlyAsInFloat32) {
  const std::vector<float> in_float = LossesOf("cpu", false);
  const std::vector<float> lower = LossesOf("cuda:0", GetParam(), Precision::kBFloat16);
  EXPECT_NE(lower[0], in_float[0]);
  ExpectNear(lower, in_float, 0.1F);
}

// Its convolutions' results, but not what goes from layer to layer, and nothing that lasts.
TEST_F(GpuTest, OnGpusPrecisionIsTheNetworks) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16}) {
    const BenchNetworkOptions options{
        .layers = 2, .channels = 4, .height = 32, .width = 32, .precision = precision};
    const LayerChain chain = *MakeBenchNetwork("conv", options);
    for (const auto& layer : chain.layers) MoveTo(kGpu, *layer);
    const Stage stage = WholeChain(chain);
    const at::Tensor made = stage.Forward({MakeBenchSamples(options, 1)[0].to(kGpu)})[0];
    EXPECT_EQ(made.scalar_type(), at::kFloat);
    EXPECT_EQ(at::equal(made.to(at::kBFloat16).to(at::kFloat), made),
              precision == Precision::kBFloat16);
    made.sum().backward();
    for (const at::Tensor& parameter : stage.parameters()) {
      EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat);
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
