// A network that is cut again while it learns: nothing that a layer has learned is lost.
#include <string>
#include <vector>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/stages/network_run.h"
#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

using Kind = OptimizerOptions::Kind;

// Runs `plans` one after the other in engines, each on its own cuts and from its own sample on.
struct Cutting {
  std::string schedule;
  Cuts cuts = {};
  int first_sample = 0;
};

Plan PlanOf(const LayerChain& chain, const Cutting& cutting) {
  const PipelineShape shape = ShapeOf(chain, cutting.cuts);
  return *MakePlan(cutting.schedule,
                   {.shape = shape, .costs = std::vector<StageCost>(shape.stages, kAssumedCost)});
}

Outcome Learn(const std::vector<Cutting>& cuttings, const OptimizerOptions& optimizer,
              const std::vector<at::Tensor>& inputs) {
  Outcome outcome;
  const LayerChain chain = SmallChain();
  const SmallRun run{.schedule = {}, .optimizer = optimizer};
  StagedNetwork::Options options =
      run.OptionsFor(chain, PlanOf(chain, cuttings.front()), outcome.outputs);
  options.cuts = cuttings.front().cuts;
  const Plan first = options.plan;
  StagedNetwork network(std::move(options));
  auto engine =
      PhasedEngine::Start({.phases = {{.plan = first}},
                           .run = [&network](const Step& step) { return network.Run(step); },
                           .on_worker_start = [](int) { at::set_num_threads(1); }});
  EXPECT_TRUE(engine.ok()) << engine.status();
  auto next = cuttings.begin() + 1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (next != cuttings.end() && next->first_sample == static_cast<int>(i)) {
      const absl::Status switched =
          (*engine)->Switch(PlanOf(chain, *next), [&](const Phase& phase) {
            network.Switch(phase.plan, phase.first_sample, next->cuts);
            return absl::OkStatus();
          });
      EXPECT_TRUE(switched.ok()) << switched;
      ++next;
    }
    const auto admitted = (*engine)->Admit([&](std::int64_t n) { network.Admit(n, inputs[i]); });
    EXPECT_EQ(*admitted, static_cast<std::int64_t>(i));
  }
  EXPECT_TRUE((*engine)->Drain().ok());
  outcome.parameters = Values(WholeChain(chain).parameters());
  outcome.updates = network.updates();
  return outcome;
}

class CutAgainTest : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

struct Remembering {
  std::string name;
  OptimizerOptions optimizer;
};

class SwitchedNetwork : public CutAgainTest, public ::testing::WithParamInterface<Remembering> {};

// Each of these optimizers remembers something else of each parameter: it must come along.
TEST_P(SwitchedNetwork, EqualsOneThatWasNotSwitchedBitForBit) {
  const std::vector<at::Tensor> inputs = SmallInputs(60);
  Outcome straight = Learn({{"sequential", {}}}, GetParam().optimizer, inputs);
  const Outcome switched = Learn({{"sequential", {}},
                                  {"sequential", {2, 4}, 17},
                                  {"sequential", {3}, 18},
                                  {"sequential", {1, 2, 3, 5}, 40}},
                                 GetParam().optimizer, inputs);
  EXPECT_THAT(switched.updates, ElementsAre(60, 60, 60, 60, 60));
  straight.updates = switched.updates;
  ExpectEqual(switched, straight);
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, SwitchedNetwork,
    ::testing::Values(
        Remembering{"RmsProp", {.learning_rate = 1e-3}},
        Remembering{"Sgd", {.kind = Kind::kSgd, .learning_rate = 1e-2}},
        Remembering{"Momentum", {.kind = Kind::kSgd, .learning_rate = 1e-2, .momentum = 0.9}},
        Remembering{"Adam", {.kind = Kind::kAdam, .learning_rate = 1e-3}},
        Remembering{"AdamW", {.kind = Kind::kAdamW, .learning_rate = 1e-3, .weight_decay = 0.01}},
        // Its learning rate depends on the number of updates.
        Remembering{"PipeMare", {.learning_rate = 1e-3, .pipemare_steps = 50}}),
    [](const auto& test) { return test.param.name; });

TEST_F(CutAgainTest, EqualsTwoNetworksRunOneAfterTheOtherByHand) {
  const OptimizerOptions plain = {.kind = Kind::kSgd, .learning_rate = 1e-2};  // Keeps nothing.
  const std::vector<at::Tensor> inputs = SmallInputs(50);
  const std::vector<Cutting> cuttings = {{"partime", {2, 4}}, {"one_f_one_b_star", {1, 3, 4}, 23}};

  Outcome by_hand;
  const LayerChain chain = SmallChain();
  const SmallRun run{.schedule = {}, .optimizer = plain};
  for (std::size_t i = 0; i < cuttings.size(); ++i) {
    const int first = cuttings[i].first_sample;
    const int end = i == 0 ? cuttings[1].first_sample : 50;
    const Plan roomy = WithoutBounds(PlanOf(chain, cuttings[i]), end - first);
    std::vector<at::Tensor> outputs;
    StagedNetwork::Options options = run.OptionsFor(chain, roomy, outputs);
    options.cuts = cuttings[i].cuts;
    StagedNetwork network(std::move(options));
    for (int n = first; n < end; ++n) network.Admit(n - first, inputs[n]);
    RunSerially(roomy, end - first, [&network](const Step& step) { network.Run(step); });
    by_hand.outputs.insert(by_hand.outputs.end(), outputs.begin(), outputs.end());
    // What the first plan left undone of its last samples, no network makes up for.
    for (const at::Tensor& parameter : WholeChain(chain).parameters()) {
      parameter.mutable_grad() = at::Tensor();
    }
  }
  by_hand.parameters = Values(WholeChain(chain).parameters());

  const Outcome switched = Learn(cuttings, plain, inputs);
  by_hand.updates = switched.updates;
  ExpectEqual(switched, by_hand);
  // PARTIME's stages of three learn from 2(D - h) samples less: 4, 2, 0. The second of the new ones
  // has a layer of the first and one of the second.
  EXPECT_THAT(switched.updates, ElementsAre(23 - 4 + 27, 23 - 2 + 27, 23 - 2 + 27, 50));
}

TEST_F(CutAgainTest, TellsWhatHadNothingToDo) {
  const LayerChain chain = SmallChain();
  const Plan plan = PlanOf(chain, {"sequential", {3}});
  int computed = 0;
  StagedNetwork network({.chain = chain,
                         .cuts = {3},
                         .plan = plan,
                         .loss = std::make_unique<FunctionLoss>([&](const StageOutput& output) {
                           return computed++ % 2 == 0 ? LossByInput(output) : at::Tensor();
                         })});
  std::vector<bool> forwards;
  std::vector<bool> others;
  const std::vector<at::Tensor> inputs = SmallInputs(4);
  RunSerially(plan, 4, [&](const Step& step) {
    const bool forward = step.kind == OperationKind::kForward;
    if (forward && step.stage == 1) network.Admit(step.first, inputs[step.first]);
    const bool worked = network.Run(step);
    if (forward) {
      forwards.push_back(worked);
    } else {
      others.push_back(worked == (step.first % 2 == 0));
    }
  });
  EXPECT_THAT(forwards, Each(true));
  EXPECT_THAT(others, Each(true));
}

// A change of the optimizer while a network learns.
struct OptimizerChange {
  std::string name;
  OptimizerOptions before;
  OptimizerOptions after;
  std::string schedule = "one_f_one_b_star";
};

class ChangedOptimizer : public CutAgainTest,
                         public ::testing::WithParamInterface<OptimizerChange> {
 protected:
  static constexpr int kChangeAt = 23;
  static constexpr int kSamples = 50;

  [[nodiscard]] static SmallRun RunWith(const OptimizerOptions& optimizer) {
    return {.schedule = GetParam().schedule, .stages = 3, .optimizer = optimizer};
  }

  // One network learns the first part, another one the rest, from the state of the first.
  static Outcome ByHand(const std::vector<at::Tensor>& inputs) {
    Outcome outcome;
    const LayerChain chain = RunWith({}).Chain();
    std::vector<LayerState> learned;
    for (const auto& [first, end] : {std::pair(0, kChangeAt), std::pair(kChangeAt, kSamples)}) {
      OptimizerOptions optimizer = first == 0 ? GetParam().before : GetParam().after;
      optimizer.learning_rate = GetParam().before.learning_rate;
      const SmallRun small = RunWith(optimizer);
      const Plan plan = WithoutBounds(small.PhasesFor(chain).front().plan, kSamples);
      std::vector<at::Tensor> outputs;
      StagedNetwork network(small.OptionsFor(chain, plan, outputs));
      if (first > 0) network.store().Restore(learned);
      for (int n = first; n < end; ++n) network.Admit(n - first, inputs[n]);
      RunSerially(plan, end - first, [&network](const Step& step) { network.Run(step); });
      learned = network.store().Save();
      outcome.outputs.insert(outcome.outputs.end(), outputs.begin(), outputs.end());
      outcome.updates = network.updates();
    }
    outcome.parameters = Values(WholeChain(chain).parameters());
    return outcome;
  }
};

TEST_P(ChangedOptimizer, ContinuesFromTheStateOfTheFormerOneBitForBit) {
  const std::vector<at::Tensor> inputs = SmallInputs(kSamples);
  const Outcome changed =
      InTheEngineChangingTo(GetParam().after, kChangeAt, RunWith(GetParam().before), inputs);
  ExpectEqual(changed, ByHand(inputs));
  Outcome straight = InTheEngine(RunWith(GetParam().before), inputs);
  EXPECT_FALSE(at::equal(straight.parameters[0], changed.parameters[0])) << "nothing has changed";
}

INSTANTIATE_TEST_SUITE_P(
    Options, ChangedOptimizer,
    ::testing::Values(
        OptimizerChange{"Clipping", {.learning_rate = 1e-3}, {.clip_update = 0}},
        OptimizerChange{"WeightDecay", {.learning_rate = 1e-3}, {.weight_decay = 0.1}, "partime"},
        OptimizerChange{"NormOfAStage", {.learning_rate = 1e-3}, {.clip_norm = 1e-3}, "sequential"},
        OptimizerChange{"Momentum",
                        {.kind = Kind::kSgd, .learning_rate = 1e-2, .momentum = 0.9},
                        {.kind = Kind::kSgd, .momentum = 0.5, .nesterov = true}},
        OptimizerChange{"AdamWInPlaceOfAdam",
                        {.kind = Kind::kAdam, .learning_rate = 1e-3},
                        {.kind = Kind::kAdamW, .weight_decay = 0.1, .beta1 = 0.5},
                        "pipedream"},
        OptimizerChange{"SpikeCompensation",
                        {.kind = Kind::kSgd, .learning_rate = 1e-2, .momentum = 0.9},
                        {.kind = Kind::kSgd, .momentum = 0.9, .spike_compensation = true}},
        OptimizerChange{"PipeMare", {.learning_rate = 1e-3}, {.pipemare_steps = 100}}),
    [](const auto& test) { return test.param.name; });

class OptimizerRequests : public CutAgainTest {
 protected:
  OptimizerRequests() {
    auto made = NetworkRun::Start({.network = small_.OptionsFor(chain_, plan_, outputs_),
                                   .phases = {{.plan = plan_}},
                                   .on_switch = [this] { ++switches_; },
                                   .on_optimizer = [this] { ++changes_; }});
    EXPECT_TRUE(made.ok()) << made.status();
    run_ = *std::move(made);
  }

  void AdmitOne() {
    EXPECT_TRUE(run_->AwaitRoom().ok());
    EXPECT_TRUE(run_->Admit([] { return SmallInputs(1)[0]; }).ok());
  }

  const SmallRun small_{.schedule = "sequential"};
  const LayerChain chain_ = SmallChain();
  const Plan plan_ = PlanOf(chain_, {.schedule = "sequential"});
  std::vector<at::Tensor> outputs_;
  int switches_ = 0;
  int changes_ = 0;
  std::unique_ptr<NetworkRun> run_;
};

TEST_F(OptimizerRequests, OneThatCannotContinueIsRefusedAndDisturbsNothing) {
  const absl::Status other = run_->SetOptimizer({.kind = Kind::kAdam});
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), testing::HasSubstr("the state of rmsprop"));
  EXPECT_TRUE(absl::IsFailedPrecondition(run_->SetOptimizer({.kind = Kind::kSgd})));
  EXPECT_TRUE(absl::IsInvalidArgument(run_->SetOptimizer({.clip_norm = -1})));
  AdmitOne();
  EXPECT_EQ(switches_, 0);
}

TEST_F(OptimizerRequests, EqualOptionsAndAnotherRateDisturbNothing) {
  OptimizerOptions other_rate = small_.optimizer;
  other_rate.learning_rate = 0.5;
  EXPECT_TRUE(run_->SetOptimizer(small_.optimizer).ok());
  EXPECT_TRUE(run_->SetOptimizer(other_rate).ok());
  AdmitOne();
  EXPECT_EQ(switches_, 0);
}

TEST_F(OptimizerRequests, SeveralBeforeTheNextSampleAreOneChange) {
  OptimizerOptions next = small_.optimizer;
  for (const double clip : {2, 3, 4}) {
    next.clip_update = clip;
    EXPECT_TRUE(run_->SetOptimizer(next).ok());
  }
  EXPECT_EQ(changes_, 0);
  AdmitOne();
  AdmitOne();
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(switches_, 1);
}

// A roll-back writes to the weights of a GPU between two samples.
TEST(NetworkRunTest, AGpuThatFailsInAPauseIsReportedAsSuch) {
  const SmallRun small{.schedule = "sequential"};
  const LayerChain chain = SmallChain();
  std::vector<at::Tensor> outputs;
  const Plan plan = PlanOf(chain, {.schedule = "sequential"});
  auto run = NetworkRun::Start(
      {.network = small.OptionsFor(chain, plan, outputs), .phases = {{.plan = plan}}});
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_TRUE((*run)->Admit([] { return SmallInputs(1)[0]; }).ok());
  const absl::Status failed = (*run)->Pause([](StagedNetwork& /*network*/) {
    throw c10::AcceleratorError({"Pause", __FILE__, __LINE__}, 700, "CUDA error: no access");
  });
  EXPECT_TRUE(absl::IsAborted(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()), testing::HasSubstr("the GPU has failed"));
}

}  // namespace
}  // namespace millrace::pipeline
