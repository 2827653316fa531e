// A learner that has gone wrong comes back to weights that were good.
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/learner.h"
#include "pipeline/plan/serial_run.h"
#include "pipeline/recovery/safe_learning.h"
#include "pipeline/recovery/state_collector.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/staged_network.h"
#include "tests/pipeline/support/moving_waves.h"
#include "tests/pipeline/support/small_chain.h"
#include "tests/pipeline/support/small_runs.h"
#include "tests/pipeline/support/without_bounds.h"

namespace millrace::pipeline {
namespace {

std::vector<at::Tensor> Copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

// The loss is zero; its gradient is infinity times zero.
at::Tensor InfiniteGradient(const StageOutput& output) {
  return (output.output - output.output.detach()).abs().sqrt().sum();
}

constexpr int kMostSamples = 64;

// A small network under a schedule, run step by step.
class LearningNetwork {
 public:
  explicit LearningNetwork(const std::string& schedule, Cuts cuts,
                           std::function<void(const Step&)> on_update = {},
                           std::unique_ptr<Loss> loss = ByInput())
      : chain_(SmallChain()),
        plan_(PlanOf(schedule, cuts)),
        network_({.chain = chain_,
                  .cuts = std::move(cuts),
                  .plan = plan_,
                  .loss = std::move(loss),
                  .optimizer = {.kind = OptimizerOptions::Kind::kAdam, .learning_rate = 0.01},
                  .on_update = std::move(on_update)}) {}

  void Learn(int samples) {
    const std::vector<at::Tensor> inputs = SmallInputs(samples);
    RunSerially(plan_, samples, [&](const Step& step) {
      if (step.kind == OperationKind::kForward && step.stage == 1) {
        for (std::int64_t i = step.first; i <= step.last; ++i) network_.Admit(i, inputs[i]);
      }
      network_.Run(step);
    });
  }
  void SwitchTo(const std::string& schedule, const Cuts& cuts) {
    plan_ = PlanOf(schedule, cuts);
    network_.Switch(plan_, 0, cuts);
  }
  StagedNetwork& network() { return network_; }
  [[nodiscard]] std::vector<at::Tensor> weights() const {
    return Copies(WholeChain(chain_).parameters());
  }

 private:
  [[nodiscard]] Plan PlanOf(const std::string& schedule, const Cuts& cuts) const {
    const std::vector<StageCost> costs(cuts.size() + 1, {.forward = 1, .backward = 2});
    const Plan plan = *MakePlan(schedule, {.shape = ShapeOf(chain_, cuts), .costs = costs});
    return WithoutBounds(plan, kMostSamples);
  }

  const LayerChain chain_;
  Plan plan_;
  StagedNetwork network_;
};

bool Equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return at::equal(x, y); });
}

void ExpectSame(const std::vector<LayerState>& a, const std::vector<LayerState>& b,
                const std::string& where) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t layer = 0; layer < a.size(); ++layer) {
    EXPECT_TRUE(Equal(a[layer].parameters, b[layer].parameters)) << where << layer;
    const auto& kept = a[layer].optimizer.of_parameters;
    ASSERT_EQ(kept.size(), b[layer].optimizer.of_parameters.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      ASSERT_FALSE(kept[i].empty());
      EXPECT_TRUE(Equal(kept[i], b[layer].optimizer.of_parameters[i])) << where << layer;
    }
  }
}

// The results after a state depend only on the state. Learning from it gives the same bits, for any
// learning in between and for any cuts of the network.
TEST(NetworkStateTest, LearnsOnFromItBitForBit) {
  LearningNetwork learned("sequential", {2, 4});
  learned.Learn(20);
  const std::vector<LayerState> state = learned.network().Save();
  learned.SwitchTo("sequential", {2, 4});
  learned.Learn(30);
  const std::vector<at::Tensor> expected = learned.weights();

  learned.SwitchTo("sequential", {3});
  learned.network().Restore(state);
  learned.Learn(30);
  EXPECT_TRUE(Equal(learned.weights(), expected));
  learned.SwitchTo("sequential", {1, 2, 5});
  learned.network().Restore(state);
  EXPECT_FALSE(Equal(learned.weights(), expected)) << "it went back";
  learned.Learn(30);
  EXPECT_TRUE(Equal(learned.weights(), expected)) << "and can be put in place again";
}

TEST(NetworkStateTest, CountsNeverGoBack) {
  LearningNetwork learned("sequential", {3});
  const std::vector<LayerState> start = learned.network().Save();
  learned.Learn(20);
  learned.SwitchTo("sequential", {3});
  learned.network().Restore(start);
  EXPECT_EQ(learned.network().updates(), (std::vector<std::int64_t>{20, 20}));
}

TEST(SafeLearningTest, AGradientThatIsNotFiniteTeachesNothingAndIsCounted) {
  LearningNetwork learned("sequential", {3}, {}, std::make_unique<FunctionLoss>(InfiniteGradient));
  const std::vector<at::Tensor> start = learned.weights();
  learned.Learn(5);
  EXPECT_TRUE(Equal(learned.weights(), start));
  EXPECT_EQ(learned.network().updates(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(learned.network().gradients_not_finite(), 10)
      << "of the last stage's weights, and on the way to the first";
}

// Each prediction is fine, and no update is.
TEST(SafeLearningTest, UpdatesThatAreAllLeftOutAreAReasonToGoBack) {
  StagedNetwork* network = nullptr;
  SafeLearning* safe = nullptr;
  auto loss = std::make_unique<FunctionLoss>(
      InfiniteGradient, [&](const StageOutput& output, const LossValue& /*value*/) {
        static_cast<void>(
            safe->health().Next({.sample = output.sample, .loss = 0.5, .loss_no_motion = 1}));
        safe->OnJudged({.sample = output.sample, .learned = true}, *network);
      });
  LearningNetwork learning("sequential", {3}, {}, std::move(loss));
  network = &learning.network();
  SafeLearning own({.divergence = {.most_refused = 5}},
                   {.state = {.sample = -1, .layers = network->Save()}});
  safe = &own;
  learning.Learn(5);
  EXPECT_FALSE(own.RollBackIsDue()) << "what came of the fifth is not known yet";
  learning.SwitchTo("sequential", {3});
  learning.Learn(1);
  ASSERT_TRUE(own.RollBackIsDue());
  learning.SwitchTo("sequential", {3});
  own.RollBack(*network);
  EXPECT_FALSE(own.RollBackIsDue());
}

// Learns from one prediction after the other, whose ratios are given: each a window of its own, and
// after each a copy.
class JudgedRun {
 public:
  /// Of the last sample.
  enum class Judged { kBeforeItsCopy, kAfterItsCopy };

  void Learn(const std::vector<double>& ratios, Judged judged) {
    auto loss = std::make_unique<FunctionLoss>(
        LossByInput, [&](const StageOutput& output, const LossValue& /*value*/) {
          static_cast<void>(safe_->health().Next(
              {.sample = output.sample, .loss = ratios.at(output.sample), .loss_no_motion = 1}));
          if (judged == Judged::kBeforeItsCopy) OnJudged(output.sample);
        });
    const auto on_update = [&](const Step& update) {
      safe_->OnUpdate(learning_->network(), update);
      if (judged == Judged::kAfterItsCopy) OnJudged(update.first);
    };
    learning_.emplace("sequential", Cuts{}, on_update, std::move(loss));
    safe_.emplace(
        SafeLearning::Options{
            .divergence = {.window = 1, .most_loss = 3},
            .copy_every = 1,
            .on_good = [this](const GoodState& good) { kept_.push_back(good.state.sample); }},
        SafeLearning::Start{.state = {.sample = -1, .layers = learning_->network().Save()}});
    learning_->Learn(static_cast<int>(ratios.size()));
  }
  std::optional<GoodState> Last() { return safe_->Last(learning_->network(), /*finished=*/false); }
  /// After which samples.
  [[nodiscard]] const std::vector<std::int64_t>& kept() const { return kept_; }

 private:
  void OnJudged(std::int64_t sample) {
    safe_->OnJudged({.sample = sample, .learned = true}, learning_->network());
  }

  std::optional<LearningNetwork> learning_;
  std::optional<SafeLearning> safe_;
  std::vector<std::int64_t> kept_;
};

// The weights after the third sample are known by the fourth prediction, and it is bad.
TEST(SafeLearningTest, WhatIsKeptIsKnownByItsOwnWindowWhoeverIsFirst) {
  for (const auto judged : {JudgedRun::Judged::kBeforeItsCopy, JudgedRun::Judged::kAfterItsCopy}) {
    JudgedRun run;
    run.Learn({0.5, 0.5, 0.5, 1.5, 1.5}, judged);
    EXPECT_EQ(run.kept(), (std::vector<std::int64_t>{0, 1}));
  }
}

// A prediction that is refused proves nothing, and says nothing of weights that have proven good.
TEST(SafeLearningTest, WhatHasProvenGoodKeepsItsRatio) {
  JudgedRun run;
  run.Learn({0.5, 0.5, 0.25, 5}, JudgedRun::Judged::kBeforeItsCopy);
  const std::optional<GoodState> last = run.Last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->state.sample, 1);
  EXPECT_EQ(last->ratio, 0.25);
}

// After learning has been given up the rate is 0 everywhere. A caller that sets a rate restarts it.
class GivenUpTest : public ::testing::Test {
 protected:
  GivenUpTest() {
    for (int i = 0; i < RateScale::kMostInARow; ++i) {
      EXPECT_FALSE(safe_.gave_up()) << "after " << i;
      GoWrong();
      EXPECT_TRUE(safe_.RollBackIsDue()) << "after " << i;
      learning_.SwitchTo("sequential", {});
      safe_.RollBack(network_);
    }
  }
  void GoWrong() {
    static_cast<void>(safe_.health().Next({.finite = false}));
    safe_.OnJudged({.sample = 0, .learned = true}, network_);
  }

  LearningNetwork learning_{"sequential", {}};
  StagedNetwork& network_ = learning_.network();
  SafeLearning safe_{{.divergence = {.most_refused = 1}, .recover_after = 2},
                     {.state = {.sample = -1, .layers = network_.Save()}}};
};

TEST_F(GivenUpTest, LearnsNothingAndGoesBackNoMore) {
  EXPECT_TRUE(safe_.gave_up());
  EXPECT_EQ(safe_.counts().roll_backs, RateScale::kMostInARow);
  for (int i = 0; i < 10; ++i) GoWrong();
  EXPECT_TRUE(safe_.gave_up()) << "what is predicted meanwhile is no recovery";
  EXPECT_FALSE(safe_.RollBackIsDue());
  EXPECT_EQ(network_.learning_rate_scale(), 0);
  EXPECT_EQ(safe_.rate_share(), 1.0 / 4096) << "for the next process";
}

TEST_F(GivenUpTest, AnotherRateIsTriedWhole) {
  safe_.SetRateFactor(0.5, network_);
  EXPECT_FALSE(safe_.gave_up());
  EXPECT_EQ(network_.learning_rate_scale(), 0.5);
}

TEST_F(GivenUpTest, TheSameRateIsTriedWithTheShareThatWasLeft) {
  safe_.SetRateFactor(0, network_);  // A learner of labels that is frozen.
  EXPECT_TRUE(safe_.gave_up());
  safe_.SetRateFactor(1, network_);
  EXPECT_FALSE(safe_.gave_up());
  EXPECT_EQ(network_.learning_rate_scale(), 1.0 / 4096);
}

// A run that ended there tells what every stage holds after a sample; the copies that were made
// while the pipeline went on must be that, with all that the optimizers keep. (Not under partime,
// whose stages learn from a sample with the activations of later ones.)
TEST(StateCollectorTest, CopiesEveryStageAfterTheSameSample) {
  for (const std::string schedule : {"one_f_one_b_star", "recompute", "gpipe", "pipedream"}) {
    std::vector<NetworkState> collected;
    StateCollector collector(10, [&](NetworkState s) { collected.push_back(std::move(s)); });
    StagedNetwork* network = nullptr;
    LearningNetwork learned(schedule, {2, 4},
                            [&](const Step& update) { collector.OnUpdate(*network, update); });
    network = &learned.network();
    learned.Learn(60);
    ASSERT_GE(collected.size(), 4U) << schedule;
    for (const NetworkState& state : collected) {
      LearningNetwork ended(schedule, {2, 4});
      ended.Learn(static_cast<int>(state.sample) + 1);
      ExpectSame(state.layers, ended.network().Save(), schedule);
    }
  }
}

constexpr int kSide = kWavesSide;

// With a learning rate that destroys any network, it goes wrong, rolls back and continues. Every
// sample is predicted. Right after the roll-back, its flow is that of the first weights, which see
// no motion.
TEST(SafeLearningTest, ALearnerThatExplodesComesBackAndGoesOn) {
  std::mutex mu;
  std::vector<ModelPrediction> predictions;
  auto learner = MakeFlowLearner({.width = kSide,
                                  .height = kSide,
                                  .stages = 2,
                                  .learning_rate = 0.5,
                                  .learning = {.divergence = {.window = 10, .most_refused = 5}},
                                  .copy_every = 10},
                                 [&](ModelPrediction prediction) {
                                   const std::lock_guard lock(mu);
                                   predictions.push_back(std::move(prediction));
                                 });
  ASSERT_TRUE(learner.ok()) << learner.status();
  int admitted = 0;
  std::vector<int> came_back;  // The samples that met the old weights first.
  for (; admitted < 3000 && came_back.size() < 2; ++admitted) {
    const std::int64_t before = (*learner)->learning().roll_backs;
    ASSERT_TRUE((*learner)->AwaitRoom().ok());
    if ((*learner)->learning().roll_backs > before) came_back.push_back(admitted);
    ASSERT_TRUE((*learner)->Admit({Waves(admitted), Waves(admitted + 1)}).ok());
  }
  ASSERT_TRUE((*learner)->Drain().ok());
  ASSERT_EQ(came_back.size(), 2U);
  EXPECT_EQ((*learner)->learning().rate_scale, 0.25);
  ASSERT_EQ(predictions.size(), static_cast<std::size_t>(admitted));
  for (int sample : came_back) {
    const std::vector<float>& flow = *predictions[sample].flow;
    EXPECT_TRUE(std::ranges::all_of(flow, [](float x) { return x == 0; })) << sample;
    EXPECT_NE(*predictions[sample - 1].flow, flow) << "it had gone wrong";
  }
}

// With any rate, it ends with weights that see a plausible flow. It learns with the remaining share
// of the rate, or keeps the good weights.
TEST(SafeLearningTest, ALearnerWhoseRateIsFarTooHighEndsPlausible) {
  for (const double rate : {0.05, 1.0}) {
    std::mutex mu;
    std::vector<SkipReason> skipped;
    auto learner = MakeFlowLearner({.width = kSide,
                                    .height = kSide,
                                    .schedule = "sequential",
                                    .stages = 1,
                                    .learning_rate = rate,
                                    .learning = {.divergence = {.window = 10, .most_refused = 5}},
                                    .copy_every = 10},
                                   [&](const ModelPrediction& prediction) {
                                     const std::lock_guard lock(mu);
                                     skipped.push_back(prediction.skipped);
                                   });
    ASSERT_TRUE(learner.ok()) << learner.status();
    // Good for so long that the next roll-back would begin another row.
    auto is_over = [&, quiet = 0, before = std::int64_t{0}]() mutable {
      const LearningFigures now = (*learner)->learning();
      quiet = now.roll_backs == before ? quiet + 1 : 0;
      before = now.roll_backs;
      return now.rate_scale == 0 || quiet == 300;
    };
    int i = 0;
    for (; i < 4000 && !is_over(); ++i) {
      ASSERT_TRUE((*learner)->AwaitRoom().ok());
      ASSERT_TRUE((*learner)->Admit({Waves(i % 40), Waves(i % 40 + 1)}).ok());
    }
    EXPECT_LT(i, 4000) << rate;
    const std::int64_t roll_backs = (*learner)->learning().roll_backs;
    EXPECT_GE(roll_backs, 1) << rate;
    EXPECT_LE(roll_backs, RateScale::kMostInARow) << rate;
    for (int last = 0; last < 20; ++last) {
      ASSERT_TRUE((*learner)->AwaitRoom().ok());
      ASSERT_TRUE((*learner)->Admit({Waves(last), Waves(last + 1)}).ok());
    }
    ASSERT_TRUE((*learner)->Drain().ok());
    const bool held = (*learner)->learning().rate_scale == 0;
    for (std::size_t k = skipped.size() - 20; k < skipped.size(); ++k) {
      EXPECT_EQ(skipped[k], held ? SkipReason::kHeld : SkipReason::kNone) << rate;
    }
  }
}

// The stripes, behind noise that cannot be predicted.
std::vector<std::uint8_t> NoisyWaves(double shift, unsigned seed) {
  std::vector<std::uint8_t> rgb = Waves(shift);
  std::minstd_rand draw(seed + 1);
  for (std::uint8_t& value : rgb) value = static_cast<std::uint8_t>(value / 2 + draw() % 128);
  return rgb;
}

// A thread that learns at the same time must not restore the earlier rate.
TEST(SafeLearningTest, ARateThatIsSetHoldsWhateverIsLearnedMeanwhile) {
  LearningNetwork learning("sequential", {});
  StagedNetwork& network = learning.network();
  SafeLearning safe({}, {.state = {.sample = -1, .layers = network.Save()}});
  const std::jthread learner([&](const std::stop_token& stop) {
    for (std::int64_t i = 0; !stop.stop_requested(); ++i) {
      safe.OnJudged({.sample = i, .learned = true}, network);
    }
  });
  for (int i = 0; safe.counts().last_sample < 500'000; ++i) {
    const double factor = i % 2 == 0 ? 0.5 : 0.25;
    safe.SetRateFactor(factor, network);
    ASSERT_EQ(network.learning_rate_scale(), factor) << "after " << i;
  }
}

TEST(SafeLearningTest, TellsThatTheStreamHasChangedWithin200Samples) {
  constexpr int kChange = 400;
  std::mutex mu;
  std::vector<std::int64_t> drifts;
  auto learner =
      MakeFlowLearner({.width = kSide, .height = kSide, .stages = 2, .learning_rate = 1e-3},
                      [&](const ModelPrediction& prediction) {
                        const std::lock_guard lock(mu);
                        if (prediction.drift) drifts.push_back(prediction.sample);
                      });
  ASSERT_TRUE(learner.ok()) << learner.status();
  const auto picture = [](int i) { return i <= kChange ? Waves(i) : NoisyWaves(i, i); };
  for (int i = 0; i < kChange + 200; ++i) {
    ASSERT_TRUE((*learner)->AwaitRoom().ok());
    const std::vector<std::uint8_t> previous = picture(i);
    const std::vector<std::uint8_t> current = picture(i + 1);
    ASSERT_TRUE((*learner)->Admit({previous, current}).ok());
  }
  ASSERT_TRUE((*learner)->Drain().ok());
  ASSERT_FALSE(drifts.empty());
  EXPECT_GE(drifts.front(), kChange) << "nothing had changed for the worse";
  EXPECT_EQ((*learner)->learning().drifts, std::ssize(drifts));
}

// Stripes that stand still teach nothing; stage by stage.
TEST(SafeLearningTest, NothingIsLearnedFromARepeatedPicture) {
  std::mutex mu;
  std::vector<SkipReason> skipped;
  auto learner = MakeFlowLearner({.width = kSide, .height = kSide, .stages = 2},
                                 [&](const ModelPrediction& prediction) {
                                   const std::lock_guard lock(mu);
                                   skipped.push_back(prediction.skipped);
                                 });
  ASSERT_TRUE(learner.ok()) << learner.status();
  for (int i = 0; i < 40; ++i) {
    const double at = std::min(i, 20);  // It stops.
    ASSERT_TRUE((*learner)->Admit({Waves(at), Waves(std::min(i + 1, 20))}).ok());
  }
  ASSERT_TRUE((*learner)->Drain().ok());
  for (int i = 0; i < 40; ++i) {
    const SkipReason expected = i < 20   ? SkipReason::kNone
                                : i < 29 ? SkipReason::kRepeated
                                         : SkipReason::kFrozen;
    EXPECT_EQ(skipped[i], expected) << i;
  }
  EXPECT_EQ((*learner)->updates(), (std::vector<std::int64_t>{20, 20}));
}

}  // namespace
}  // namespace millrace::pipeline
