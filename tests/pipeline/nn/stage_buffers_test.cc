// Layers that draw at random and layers with running averages, under every schedule: the same bits
// whatever the threads do, and each sample counted once.
#include "pipeline/nn/stage_buffers.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/ops/finite.h"
#include "pipeline/plan/stage_walk.h"
#include "tests/pipeline/support/norm_layer.h"
#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::UnorderedElementsAre;

constexpr int kSamples = 43;  // Not a whole number of patterns.

class DropLayer final : public Layer {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {at::dropout(inputs.main, 0.3, /*train=*/true), {}};
  }

 private:
  const std::string name_ = "drop";
};

// Six layers: what the first normalization sees, nothing has normalized before.
LayerChain StatefulChain() {
  at::manual_seed(8);
  LayerChain chain;
  chain.layers.push_back(std::make_unique<SmallLayer>("a", 0));
  chain.layers.push_back(std::make_unique<NormLayer>());
  chain.layers.push_back(std::make_unique<DropLayer>());
  chain.layers.push_back(std::make_unique<SmallLayer>("b", 0));
  chain.layers.push_back(std::make_unique<NormLayer>());
  chain.layers.push_back(std::make_unique<SmallLayer>("c", 0));
  return chain;
}

SmallRun Under(const std::string& schedule, int stages, ScheduleRequest request = {},
               double learning_rate = 1e-3) {
  request.switch_at = 17;
  return {.schedule = schedule,
          .stages = stages,
          .request = std::move(request),
          .optimizer = {.learning_rate = learning_rate},
          .make_chain = &StatefulChain};
}

class StatefulChainUnder : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

TEST_P(StatefulChainUnder, EqualsTheSerialOracleBitForBit) {
  const std::vector<at::Tensor> inputs = SmallInputs(kSamples);
  for (int stages = 1; stages <= 3; ++stages) {
    const SmallRun run = Under(GetParam(), stages);
    ExpectEqual(InTheEngine(run, inputs), Serially(run, inputs));
  }
}

// With no learning, running averages are those of plain online learning: each sample moved them
// once, in its order, although some went forward twice. Those of mini-batches are another thing.
TEST_P(StatefulChainUnder, EverySampleMovesTheBuffersOnce) {
  const std::vector<at::Tensor> inputs = SmallInputs(kSamples);
  const Outcome plain = InTheEngine(Under("sequential", 1, {}, 0), inputs);
  const Outcome outcome = InTheEngine(Under(GetParam(), 3, {}, 0), inputs);
  ASSERT_EQ(outcome.buffers.size(), plain.buffers.size());
  for (std::size_t i = 0; GetParam() != "gpipe" && i < plain.buffers.size(); ++i) {
    EXPECT_TRUE(at::equal(outcome.buffers[i], plain.buffers[i])) << "buffer " << i;
  }
  // The same numbers were drawn, too.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(at::equal(outcome.outputs[i], plain.outputs[i])) << "output " << i;
  }
}

TEST_P(StatefulChainUnder, ASampleThatIsNotFiniteLeavesNothingInTheBuffers) {
  std::vector<at::Tensor> inputs = SmallInputs(kSamples);
  inputs[10].fill_(std::numeric_limits<float>::quiet_NaN());
  const Outcome outcome = InTheEngine(Under(GetParam(), 3), inputs);
  for (const at::Tensor& buffer : outcome.buffers) EXPECT_TRUE(AllFinite(buffer));
  EXPECT_TRUE(AllFinite(outcome.outputs.back())) << "the next sample finds sound layers";
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, StatefulChainUnder, ::testing::ValuesIn(ScheduleNames()),
                         [](const auto& test) { return test.param; });

// What goes forward again draws what it drew the first time, and finds what it found.
TEST(StageBuffersTest, GpipeLearnsTheSameWithAndWithoutRecomputing) {
  const std::vector<at::Tensor> inputs = SmallInputs(kSamples);
  const Outcome never = InTheEngine(Under("gpipe", 3, {.recompute = Recompute::kNever}), inputs);
  ExpectEqual(InTheEngine(Under("gpipe", 3, {.recompute = Recompute::kAlways}), inputs), never);
  ExpectEqual(InTheEngine(Under("gpipe", 3, {.recompute = Recompute::kExceptLast}), inputs), never);
}

TEST(StageBuffersTest, RandomLayersDoNotDependOnTheCuts) {
  const std::vector<at::Tensor> inputs = SmallInputs(kSamples);
  Outcome one = InTheEngine(Under("sequential", 1), inputs);
  const Outcome three = InTheEngine(Under("sequential", 3), inputs);
  one.updates = three.updates;
  ExpectEqual(one, three);
}

// GPipe, section "batch normalization"; torchgpipe's DeferredBatchNorm. The oracle is LibTorch's
// batch normalization of the mini-batch as a whole.
TEST(StageBuffersTest, GpipesRunningAveragesAreThoseOfTheMiniBatch) {
  for (const int samples : {2, 5, 8}) {
    const std::vector<at::Tensor> inputs = SmallInputs(kSamples);
    const LayerChain chain = StatefulChain();
    const at::Tensor mean = at::zeros({kChannels});
    const at::Tensor var = at::ones({kChannels});
    int batches = 0;
    for (; (batches + 1) * samples <= kSamples; ++batches) {
      std::vector<at::Tensor> made;
      for (int i = 0; i < samples; ++i) {
        made.push_back(chain.layers[0]->Forward({inputs[batches * samples + i], {}}).main);
      }
      at::batch_norm(InChannels(at::cat(made)), {}, {}, mean, var, true, kMomentum, kEps, false);
    }
    for (const Recompute recompute : {Recompute::kAlways, Recompute::kNever}) {
      const Outcome outcome =
          InTheEngine(Under("gpipe", 3, {.samples = samples, .recompute = recompute}, 0), inputs);
      EXPECT_TRUE(at::allclose(outcome.buffers[0], mean, 1e-5, 1e-7)) << samples;
      EXPECT_TRUE(at::allclose(outcome.buffers[1], var, 1e-5, 1e-7)) << samples;
      EXPECT_EQ(outcome.buffers[2].item<float>(), batches) << "other buffers move once a batch";
    }
  }
}

TEST(StageBuffersTest, OneLayerMayNormalizeTwice) {
  class Twice final : public Layer {
   public:
    [[nodiscard]] const std::string& name() const override { return norm_.name(); }
    [[nodiscard]] LayerValues Forward(const LayerValues& in) const override {
      return norm_.Forward({norm_.Forward(in).main * 3 + 1, {}});
    }
    [[nodiscard]] std::vector<at::Tensor> buffers() const override { return norm_.buffers(); }

   private:
    const NormLayer norm_;
  };
  const at::NoGradGuard no_graph;
  const std::vector<at::Tensor> inputs = SmallInputs(4);
  LayerChain chain;
  chain.layers.push_back(std::make_unique<Twice>());
  const Stage stage = WholeChain(chain);
  StageBuffers buffers(stage, /*by_pattern=*/true);
  const at::Tensor mean = at::zeros({kChannels});
  const at::Tensor var = at::ones({kChannels});
  std::vector<at::Tensor> second;
  for (const at::Tensor& input : inputs) {
    StageBuffers::FirstForward forward(buffers);
    static_cast<void>(stage.Forward({input}));
    forward.Finish();
    second.push_back(at::batch_norm(InChannels(input), {}, {}, {}, {}, true, 0, kEps, false) * 3 +
                     1);
  }
  buffers.Commit();
  at::batch_norm(InChannels(at::cat(inputs)), {}, {}, mean, var, true, kMomentum, kEps, false);
  at::batch_norm(at::cat(second), {}, {}, mean, var, true, kMomentum, kEps, false);
  EXPECT_TRUE(at::allclose(stage.buffers()[0], mean, 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(stage.buffers()[1], var, 1e-5, 1e-7));
}

// Divides by a mean that it has just moved, in place.
class MovingMeanLayer final : public Layer {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] LayerValues Forward(const LayerValues& in) const override {
    mean_.mul_(0.5).add_(in.main.detach().abs().mean(), 0.5);
    return {weight_ * in.main / mean_, {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return {weight_}; }
  [[nodiscard]] std::vector<at::Tensor> buffers() const override { return {mean_}; }

 private:
  const std::string name_ = "moving mean";
  const at::Tensor weight_ = at::ones({1}).set_requires_grad(true);
  const at::Tensor mean_ = at::ones({1});
};

TEST(StageBuffersTest, AForwardThatIsRunAgainGoesBackwardThroughWhatItMoved) {
  LayerChain chain;
  chain.layers.push_back(std::make_unique<MovingMeanLayer>());
  const Stage stage = WholeChain(chain);
  const StageBuffers buffers(stage, /*by_pattern=*/false);
  const at::Tensor input = at::full({4}, 3.0);
  {
    const StageBuffers::Unmoved unmoved(buffers);
    stage.Forward({input})[0].sum().backward();
  }
  EXPECT_FLOAT_EQ(stage.parameters()[0].grad().item<float>(), 4 * 3.0F / 2.0F);
  EXPECT_FLOAT_EQ(stage.buffers()[0].item<float>(), 1.0F) << "it moved once more";
}

TEST(StageWalkTest, OnlyGpipeLearnsByMiniBatch) {
  std::vector<std::string> found;
  for (const std::string& schedule : ScheduleNames()) {
    const LayerChain chain = StatefulChain();
    for (const Phase& phase : Under(schedule, 3).PhasesFor(chain)) {
      if (LearnsByMiniBatch(phase.plan)) found.push_back(schedule);
    }
  }
  EXPECT_THAT(found, UnorderedElementsAre("gpipe"));
}

}  // namespace
}  // namespace millrace::pipeline
