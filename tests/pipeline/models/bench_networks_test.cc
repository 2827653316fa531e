// The networks of `millrace bench`: each can be cut anywhere without a change of its results.
#include "pipeline/models/bench_networks.h"

#include <string>

#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/engine/engine.h"
#include "pipeline/nn/stage.h"
#include "pipeline/offline/bench_contender.h"
#include "pipeline/stages/staged_network.h"
#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kSamples = 4;

BenchNetworkOptions Tiny() { return {.layers = 4, .channels = 4, .height = 48, .width = 32}; }

LayerChain Made(const std::string& name) {
  absl::StatusOr<LayerChain> chain = MakeBenchNetwork(name, Tiny());
  EXPECT_TRUE(chain.ok()) << chain.status();
  return *std::move(chain);
}

Cuts EvenCutsOf(const LayerChain& chain, int stages) {
  Cuts cuts;
  for (int stage = 1; stage < stages; ++stage) {
    cuts.push_back(static_cast<int>(chain.layers.size()) * stage / stages);
  }
  return cuts;
}

// What the cut network predicts in the engine while it learns at a rate of 0.
std::vector<at::Tensor> Predictions(const std::string& name, const std::string& schedule,
                                    int stages) {
  const LayerChain chain = Made(name);
  const Cuts cuts = EvenCutsOf(chain, stages);
  const ScheduleRequest request{
      .shape = ShapeOf(chain, cuts),
      .costs = std::vector<StageCost>(stages, {.forward = 1, .backward = 2})};
  const absl::StatusOr<Plan> plan = MakePlan(schedule, request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<at::Tensor> outputs;
  StagedNetwork network(
      {.chain = chain,
       .cuts = cuts,
       .plan = *plan,
       .loss = RecordingOutputs([](const StageOutput& output) { return BenchLoss(output.output); },
                                outputs),
       .optimizer = {.learning_rate = 0}});
  auto engine = Engine::Start({.plan = *plan,
                               .run = [&network](const Step& step) { return network.Run(step); },
                               .on_worker_start = [](int) { at::set_num_threads(1); }});
  EXPECT_TRUE(engine.ok()) << engine.status();
  for (const at::Tensor& sample : MakeBenchSamples(Tiny(), kSamples)) {
    EXPECT_TRUE((*engine)->Admit([&](std::int64_t n) { network.Admit(n, sample); }).ok());
  }
  const absl::Status drained = (*engine)->Drain();
  EXPECT_TRUE(drained.ok()) << drained;
  return outputs;
}

class BenchNetworkTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

TEST_P(BenchNetworkTest, PredictsTheSameHoweverItIsCut) {
  const LayerChain uncut = Made(GetParam());
  for (const int stages : {2, 3}) {
    for (const std::string schedule : {"sequential", "partime"}) {
      const std::vector<at::Tensor> predictions = Predictions(GetParam(), schedule, stages);
      const std::vector<at::Tensor> samples = MakeBenchSamples(Tiny(), kSamples);
      ASSERT_EQ(predictions.size(), samples.size());
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const at::Tensor output = WholeChain(uncut).Forward({samples[i]})[0];
        EXPECT_TRUE(at::equal(predictions[i], output)) << schedule << ", " << stages << " stages";
      }
    }
  }
}

TEST_P(BenchNetworkTest, EveryParameterGetsAGradient) {
  const LayerChain chain = Made(GetParam());
  const Stage whole = WholeChain(chain);
  torch::autograd::backward({BenchLoss(whole.Forward(MakeBenchSamples(Tiny(), 1))[0])}, {});
  ASSERT_THAT(whole.parameters(), Not(IsEmpty()));
  for (const at::Tensor& parameter : whole.parameters()) {
    EXPECT_TRUE(parameter.grad().defined());
  }
}

INSTANTIATE_TEST_SUITE_P(All, BenchNetworkTest, ::testing::ValuesIn(BenchNetworkNames()),
                         [](const auto& test) { return test.param; });

TEST(BenchNetworksTest, CarriedSkipsComputeWhatPortalsDo) {
  const LayerChain portals = Made("unet_portals");
  const LayerChain carried = Made("unet_carried");
  EXPECT_GT(carried.skips.size(), portals.skips.size());
  for (const SkipEdge& edge : carried.skips) EXPECT_EQ(edge.to, edge.from + 1);
  const std::vector<at::Tensor> samples = MakeBenchSamples(Tiny(), 1);
  const Stage one = WholeChain(portals);
  const Stage other = WholeChain(carried);
  const at::Tensor output = one.Forward(samples)[0];
  EXPECT_TRUE(at::equal(output, other.Forward(samples)[0]));
  torch::autograd::backward({BenchLoss(output)}, {});
  torch::autograd::backward({BenchLoss(other.Forward(samples)[0])}, {});
  const std::vector<at::Tensor> a = one.parameters();
  const std::vector<at::Tensor> b = other.parameters();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i].grad(), b[i].grad())) << i;
}

TEST(BenchNetworksTest, SaysWhichNetworksThereAre) {
  const absl::Status unknown = MakeBenchNetwork("transformer", {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(unknown));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("conv_pool, resnet50"));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeBenchNetwork("conv", {.width = 8}).status()));
}

}  // namespace
}  // namespace millrace::pipeline
