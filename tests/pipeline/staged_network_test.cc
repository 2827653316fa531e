#include "pipeline/staged_network.h"

#include <chrono>
#include <limits>
#include <random>
#include <string>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/engine.h"
#include "pipeline/flow_loss.h"
#include "pipeline/flow_network.h"
#include "pipeline/serial_run.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::Gt;

constexpr int kSide = 64;
constexpr double kSmoothness = 0.1;
constexpr double kLearningRate = 1e-3;

// A textured picture that moves a little with every sample.
std::vector<at::Tensor> Stream(int samples) {
  at::manual_seed(3);
  const at::Tensor canvas = at::rand({1, 1, kSide + 64, kSide + 64});
  const auto at_time = [&canvas](int t) {
    return canvas.slice(2, t % 30, t % 30 + kSide).slice(3, 2 * t % 60, 2 * t % 60 + kSide);
  };
  std::vector<at::Tensor> inputs;
  for (int t = 0; t < samples; ++t) inputs.push_back(at::cat({at_time(t), at_time(t + 1)}));
  return inputs;
}

// The network as it starts, but for a last layer that is not zero, so that every stage learns at
// once.
LayerChain Network() {
  LayerChain chain = MakeFlowNetwork({.seed = 5});
  std::mt19937 random(11);
  std::normal_distribution<float> noise(0, 0.02F);
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) {
      at::Tensor values = parameter.variable_data();
      float* data = values.data_ptr<float>();
      for (std::int64_t i = 0; i < values.numel(); ++i) data[i] += noise(random);
    }
  }
  return chain;
}

std::vector<at::Tensor> Parameters(const LayerChain& chain) {
  std::vector<at::Tensor> copies;
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) {
      copies.push_back(parameter.detach().clone());
    }
  }
  return copies;
}

// What a run leaves behind: every output and every weight.
struct Outcome {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> parameters;
  std::vector<std::int64_t> updates;
};

void ExpectEqual(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    ASSERT_TRUE(at::equal(a.outputs[i], b.outputs[i])) << "output of sample " << i;
  }
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(a.parameters[i], b.parameters[i])) << "parameter " << i;
  }
  EXPECT_EQ(a.updates, b.updates);
}

Judge JudgeInto(std::vector<at::Tensor>& outputs) {
  return [&outputs](std::int64_t sample, const at::Tensor& pictures, const at::Tensor& flow) {
    EXPECT_EQ(sample, static_cast<std::int64_t>(outputs.size())) << "out of order";
    outputs.push_back(flow.detach().clone());
    return ComputeFlowLoss(pictures, flow, kSmoothness).objective;
  };
}

Cuts EvenCuts(int stages) {
  const int layers = static_cast<int>(Network().layers.size());
  Cuts cuts;
  for (int stage = 1; stage < stages; ++stage) cuts.push_back(stage * layers / stages);
  return cuts;
}

Plan PlanFor(const std::string& schedule, const LayerChain& chain, const Cuts& cuts) {
  const std::vector<StageCost> costs(cuts.size() + 1, {.forward = 1, .backward = 2, .update = 0});
  return *MakePlan(schedule, {.shape = ShapeOf(chain, cuts), .costs = costs});
}

Outcome InTheEngine(const std::string& schedule, int stages, const std::vector<at::Tensor>& inputs,
                    double learning_rate) {
  Outcome outcome;
  LayerChain chain = Network();
  const Cuts cuts = EvenCuts(stages);
  const Plan plan = PlanFor(schedule, chain, cuts);
  StagedNetwork network({std::move(chain), cuts, plan, JudgeInto(outcome.outputs), learning_rate});
  auto engine =
      Engine::Start({.plan = plan,
                     .run =
                         [&network](const Step& step) {
                           thread_local std::mt19937 random(std::random_device{}());
                           std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
                           network.Run(step);
                         },
                     .on_worker_start = [](int /*device*/) { at::set_num_threads(1); }});
  EXPECT_TRUE(engine.ok()) << engine.status();
  for (const at::Tensor& input : inputs) {
    EXPECT_TRUE((*engine)->Admit([&](std::int64_t n) { network.Admit(n, input); }).ok());
  }
  EXPECT_TRUE((*engine)->Drain().ok());
  outcome.parameters = Parameters(network.chain());
  outcome.updates = network.updates();
  return outcome;
}

Outcome Serially(const std::string& schedule, int stages, const std::vector<at::Tensor>& inputs) {
  Outcome outcome;
  LayerChain chain = Network();
  const Cuts cuts = EvenCuts(stages);
  const int samples = static_cast<int>(inputs.size());
  const Plan plan = WithoutBounds(PlanFor(schedule, chain, cuts), samples);
  StagedNetwork network({std::move(chain), cuts, plan, JudgeInto(outcome.outputs), kLearningRate});
  for (int i = 0; i < samples; ++i) network.Admit(i, inputs[i]);
  RunSerially(plan, samples, [&network](const Step& step) { network.Run(step); });
  outcome.parameters = Parameters(network.chain());
  outcome.updates = network.updates();
  return outcome;
}

class StagedNetworkTest : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

class NetworkInTheEngine : public StagedNetworkTest,
                           public ::testing::WithParamInterface<std::tuple<std::string, int>> {};

TEST_P(NetworkInTheEngine, EqualsTheSerialOracleBitForBit) {
  const auto& [schedule, stages] = GetParam();
  const std::vector<at::Tensor> inputs = Stream(200);
  const Outcome engine = InTheEngine(schedule, stages, inputs, kLearningRate);
  ExpectEqual(engine, Serially(schedule, stages, inputs));
  EXPECT_THAT(engine.updates, Each(Gt(0)));
  const std::vector<at::Tensor> untouched = Parameters(Network());
  for (std::size_t i = 0; i < untouched.size(); ++i) {
    EXPECT_FALSE(at::equal(engine.parameters[i], untouched[i])) << "parameter " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, NetworkInTheEngine,
                         ::testing::Combine(::testing::Values("sequential", "partime",
                                                              "one_f_one_b_star"),
                                            ::testing::Values(2, 3, 4)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::to_string(std::get<1>(test.param)) + "_stages";
                         });

TEST_F(StagedNetworkTest, OneStageIsPlainOnlineLearning) {
  const std::vector<at::Tensor> inputs = Stream(20);
  Outcome plain;
  const LayerChain chain = Network();
  const Stage whole(chain, 0, static_cast<int>(chain.layers.size()) - 1);
  RmsProp optimizer(whole.parameters(), kLearningRate);
  for (const at::Tensor& input : inputs) {
    const at::Tensor flow = whole.Forward({input})[0];
    plain.outputs.push_back(flow.detach().clone());
    torch::autograd::backward({ComputeFlowLoss(input, flow, kSmoothness).objective}, {});
    optimizer.Step();
  }
  plain.parameters = Parameters(chain);
  plain.updates = {20};
  for (const char* schedule : {"sequential", "partime", "one_f_one_b_star"}) {
    ExpectEqual(InTheEngine(schedule, 1, inputs, kLearningRate), plain);
  }
}

TEST_F(StagedNetworkTest, SequentialLearningDoesNotDependOnTheCuts) {
  const std::vector<at::Tensor> inputs = Stream(10);
  Outcome one = InTheEngine("sequential", 1, inputs, kLearningRate);
  const Outcome four = InTheEngine("sequential", 4, inputs, kLearningRate);
  one.updates = four.updates;
  ExpectEqual(one, four);
}

TEST_F(StagedNetworkTest, WithoutALearningRateTheOutputsAreTheUntouchedNetworks) {
  const std::vector<at::Tensor> inputs = Stream(10);
  const LayerChain chain = Network();
  const Stage whole(chain, 0, static_cast<int>(chain.layers.size()) - 1);
  for (const char* schedule : {"sequential", "partime", "one_f_one_b_star"}) {
    const Outcome outcome = InTheEngine(schedule, 3, inputs, 0);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(at::equal(outcome.outputs[i], whole.Forward({inputs[i]})[0].detach()));
    }
  }
}

TEST_F(StagedNetworkTest, ASampleThatIsNotFiniteTeachesNothing) {
  std::vector<at::Tensor> inputs = Stream(12);
  inputs[5] = at::full_like(inputs[5], std::numeric_limits<float>::quiet_NaN());
  for (const char* schedule : {"sequential", "one_f_one_b_star"}) {
    const Outcome outcome = InTheEngine(schedule, 3, inputs, kLearningRate);
    for (const at::Tensor& parameter : outcome.parameters) {
      EXPECT_TRUE(at::isfinite(parameter).all().item<bool>()) << schedule;
    }
    EXPECT_THAT(outcome.updates, Each(11)) << schedule;
  }
  // In partime the gradients of one sample meet the activations of another, so more updates are
  // refused.
  for (const at::Tensor& parameter : InTheEngine("partime", 3, inputs, kLearningRate).parameters) {
    EXPECT_TRUE(at::isfinite(parameter).all().item<bool>());
  }
}

}  // namespace
}  // namespace millrace::pipeline
