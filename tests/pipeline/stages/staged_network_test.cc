// The network under every schedule: the engine against the serial oracle, and common properties of
// all schedules.
#include "pipeline/stages/staged_network.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/engine/step_error.h"
#include "pipeline/optim/optimizer.h"
#include "tests/pipeline/support/norm_layer.h"
#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::Gt;

class StagedNetworkTest : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

struct Case {
  std::string name;
  SmallRun run;
};

LayerChain ChainWithNorm() {
  LayerChain chain = SplitChain();
  chain.layers[2] = std::make_unique<NormLayer>();
  return chain;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& schedule, int stages, const std::string& variant = "",
                       const ScheduleRequest& request = {}) {
    SmallRun run{.schedule = schedule, .stages = stages, .request = request};
    run.request.switch_at = 37;
    cases.push_back({schedule + "_" + std::to_string(stages) + variant, run});
  };
  for (const std::string& schedule : ScheduleNames()) {
    for (int stages = 1; stages <= 4; ++stages) add(schedule, stages);
  }
  for (int stages = 2; stages <= 4; ++stages) {
    add("stale", stages, "_separate", {.separate_backwards = true});
    add("hybrid", stages, "_separate", {.separate_backwards = true});
    add("gpipe", stages, "_except_last", {.samples = 5, .recompute = Recompute::kExceptLast});
    add("gpipe", stages, "_never", {.samples = 3, .recompute = Recompute::kNever});
    add("timeprest", stages, "_2", {.samples = 2});
    add("pipedream_2bw", stages, "_5", {.samples = 5});
  }
  for (int stages = 2; stages <= 6; ++stages) {
    add("one_f_one_b_one_w", stages, "_T4", {.period = 4});
    cases.back().run.make_chain = SplitChain;
    // A layer whose weights get their gradient in the backward.
    cases.push_back(cases.back());
    cases.back().name += "_norm";
    cases.back().run.make_chain = ChainWithNorm;
  }
  add("interleaved", 3, "_121", {.device_of = {0, 1, 0}});
  return cases;
}

class NetworkInTheEngine : public StagedNetworkTest, public ::testing::WithParamInterface<Case> {};

TEST_P(NetworkInTheEngine, EqualsTheSerialOracleBitForBit) {
  const SmallRun& run = GetParam().run;
  const std::vector<at::Tensor> inputs = SmallInputs(103);  // Not a whole number of patterns.
  const Outcome engine = InTheEngine(run, inputs);
  EXPECT_EQ(engine.outputs.size(), inputs.size());
  ExpectEqual(engine, Serially(run, inputs));
  EXPECT_THAT(engine.updates, Each(Gt(0)));
  const std::vector<at::Tensor> untouched = WholeChain(SmallChain()).parameters();
  for (std::size_t i = 0; i < untouched.size(); ++i) {
    EXPECT_FALSE(at::equal(engine.parameters[i], untouched[i])) << "parameter " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, NetworkInTheEngine, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

// Copying the weights of a GPU waits for it, so this may be the first to notice that it has failed.
TEST_F(StagedNetworkTest, AGpuThatFailsWhileItsWeightsAreCopiedFailsTheStep) {
  const SmallRun run{.schedule = "sequential"};
  const LayerChain chain = run.Chain();
  std::vector<at::Tensor> outputs;
  const Plan plan = run.PhasesFor(chain).front().plan;
  StagedNetwork::Options options = run.OptionsFor(chain, plan, outputs);
  options.on_update = [](const Step& /*update*/) {
    throw c10::AcceleratorError({"on_update", __FILE__, __LINE__}, 700,
                                "CUDA error: an illegal access");
  };
  StagedNetwork network(std::move(options));
  network.Admit(0, SmallInputs(1)[0]);
  try {
    RunSerially(plan, 1, [&network](const Step& step) { network.Run(step); });
    FAIL() << "it threw nothing";
  } catch (const StepError& error) {
    EXPECT_EQ(error.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(error.what(), testing::HasSubstr("the GPU has failed"));
  }
}

TEST_F(StagedNetworkTest, OneStageIsPlainOnlineLearning) {
  const std::vector<at::Tensor> inputs = SmallInputs(20);
  Outcome plain;
  const LayerChain chain = SmallChain();
  const Stage whole = WholeChain(chain);
  const auto optimizer = MakeOptimizer({.learning_rate = 1e-3}, whole.parameters());
  for (const at::Tensor& input : inputs) {
    const at::Tensor output = whole.Forward({input})[0];
    plain.outputs.push_back(output.detach().clone());
    torch::autograd::backward({SmallLoss(input, output)}, {});
    optimizer->Step();
  }
  plain.parameters = Values(whole.parameters());
  plain.updates = {20};
  for (const std::string& schedule : ScheduleNames()) {
    const SmallRun run{.schedule = schedule, .stages = 1, .request = {.samples = 1}};
    ExpectEqual(InTheEngine(run, inputs), plain);
  }
}

TEST_F(StagedNetworkTest, SequentialLearningDoesNotDependOnTheCuts) {
  const std::vector<at::Tensor> inputs = SmallInputs(10);
  Outcome one = InTheEngine({.schedule = "sequential", .stages = 1}, inputs);
  const Outcome four = InTheEngine({.schedule = "sequential", .stages = 4}, inputs);
  one.updates = four.updates;
  ExpectEqual(one, four);
}

TEST_F(StagedNetworkTest, WithoutALearningRateTheOutputsAreTheUntouchedNetworks) {
  const std::vector<at::Tensor> inputs = SmallInputs(10);
  const LayerChain chain = SmallChain();
  for (const std::string& schedule : ScheduleNames()) {
    const Outcome outcome =
        InTheEngine({.schedule = schedule, .stages = 3, .optimizer = {.learning_rate = 0}}, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(at::equal(outcome.outputs[i], WholeChain(chain).Forward({inputs[i]})[0].detach()))
          << schedule;
    }
  }
}

TEST_F(StagedNetworkTest, ASampleThatIsNotFiniteTeachesNothing) {
  std::vector<at::Tensor> inputs = SmallInputs(12);
  inputs[5] = at::full_like(inputs[5], std::numeric_limits<float>::quiet_NaN());
  for (const std::string& schedule : ScheduleNames()) {
    const Outcome outcome = InTheEngine({.schedule = schedule, .stages = 3}, inputs);
    for (const at::Tensor& parameter : outcome.parameters) {
      EXPECT_TRUE(at::isfinite(parameter).all().item<bool>()) << schedule;
    }
  }
  for (const char* schedule : {"sequential", "one_f_one_b_star", "pipedream", "stale"}) {
    EXPECT_THAT(InTheEngine({.schedule = schedule, .stages = 3}, inputs).updates, Each(11))
        << schedule;
  }
}

TEST_F(StagedNetworkTest, EachStageMayHaveALearningRateOfItsOwn) {
  const LayerChain chain = SmallChain();
  const std::vector<Stage> stages = CutIntoStages(chain, EvenCuts(2));
  const auto before_1 = Values(stages[0].parameters());
  const auto before_2 = Values(stages[1].parameters());
  const SmallRun run{.schedule = "sequential", .stages = 2};
  const Plan plan = WithoutBounds(run.PhasesFor(chain).front().plan, 1);
  std::vector<at::Tensor> outputs;
  StagedNetwork::Options options = run.OptionsFor(chain, plan, outputs);
  options.stage_rates = {0, 1};
  StagedNetwork network(std::move(options));
  network.Admit(0, SmallInputs(1)[0]);
  RunSerially(plan, 1, [&](const Step& step) { network.Run(step); });
  EXPECT_TRUE(at::equal(stages[0].parameters()[0], before_1[0]));
  EXPECT_FALSE(at::equal(stages[1].parameters()[0], before_2[0]));
}

TEST_F(StagedNetworkTest, StageWithoutParametersBehindTheCameraIsNoObstacle) {
  LayerChain chain = SmallChain(/*with_skip=*/false);
  for (const at::Tensor& parameter : chain.layers[0]->parameters()) {
    parameter.set_requires_grad(false);
  }
  class Frozen final : public Layer {
   public:
    explicit Frozen(std::unique_ptr<Layer> inner) : inner_(std::move(inner)) {}
    [[nodiscard]] const std::string& name() const override { return inner_->name(); }
    [[nodiscard]] LayerValues Forward(const LayerValues& in) const override {
      return inner_->Forward(in);
    }

   private:
    const std::unique_ptr<Layer> inner_;
  };
  chain.layers[0] = std::make_unique<Frozen>(std::move(chain.layers[0]));
  const Cuts cuts = {1};
  const Plan roomy = WithoutBounds(
      *MakePlan("stale", {.shape = ShapeOf(chain, cuts), .costs = {{1, 2}, {1, 2}}}), 5);
  StagedNetwork network({.chain = chain, .cuts = cuts, .plan = roomy, .loss = ByInput()});
  const std::vector<at::Tensor> inputs = SmallInputs(5);
  RunSerially(roomy, 5, [&](const Step& step) {
    if (step.kind == OperationKind::kForward && step.stage == 1) {
      network.Admit(step.first, inputs[step.first]);
    }
    network.Run(step);
  });
  EXPECT_THAT(network.updates(), Each(5));
}

}  // namespace
}  // namespace millrace::pipeline
