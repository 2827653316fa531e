// A learner that has gone wrong comes back to weights that were good.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
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
#include "pipeline/nn/tensor_snapshot.h"
#include "pipeline/plan/serial_run.h"
#include "pipeline/recovery/checkpoints.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/recovery/snapshot_collector.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/staged_network.h"
#include "tests/pipeline/support/moving_waves.h"
#include "tests/pipeline/support/small_chain.h"
#include "tests/pipeline/support/small_runs.h"
#include "tests/pipeline/support/without_bounds.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;

// The loss is zero; its gradient is infinity times zero.
at::Tensor InfiniteGradient(const StageOutput& output) {
  return (output.output - output.output.detach()).abs().sqrt().sum();
}

constexpr int kMaxSamples = 64;

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
  [[nodiscard]] const LayerChain& chain() const { return chain_; }
  [[nodiscard]] std::vector<at::Tensor> weights() const {
    return CopiesOnHost(WholeChain(chain_).parameters());
  }

 private:
  [[nodiscard]] Plan PlanOf(const std::string& schedule, const Cuts& cuts) const {
    const std::vector<StageCost> costs(cuts.size() + 1, {.forward = 1, .backward = 2});
    const Plan plan = *MakePlan(schedule, {.shape = ShapeOf(chain_, cuts), .costs = costs});
    return WithoutBounds(plan, kMaxSamples);
  }

  const LayerChain chain_;
  Plan plan_;
  StagedNetwork network_;
};

std::unique_ptr<Recovery> RecoveryOf(LearningNetwork& learning, const Recovery::Options& options) {
  std::unique_ptr<Recovery> recovery = *Recovery::Open(options, learning.chain());
  recovery->Begin(learning.network());
  return recovery;
}

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
  const std::vector<LayerState> state = learned.network().store().Save();
  learned.SwitchTo("sequential", {2, 4});
  learned.Learn(30);
  const std::vector<at::Tensor> expected = learned.weights();

  learned.SwitchTo("sequential", {3});
  learned.network().store().Restore(state);
  learned.Learn(30);
  EXPECT_TRUE(Equal(learned.weights(), expected));
  learned.SwitchTo("sequential", {1, 2, 5});
  learned.network().store().Restore(state);
  EXPECT_FALSE(Equal(learned.weights(), expected)) << "it went back";
  learned.Learn(30);
  EXPECT_TRUE(Equal(learned.weights(), expected)) << "and can be put in place again";
}

TEST(NetworkStateTest, CountsNeverGoBack) {
  LearningNetwork learned("sequential", {3});
  const std::vector<LayerState> start = learned.network().store().Save();
  learned.Learn(20);
  learned.SwitchTo("sequential", {3});
  learned.network().store().Restore(start);
  EXPECT_EQ(learned.network().updates(), (std::vector<std::int64_t>{20, 20}));
}

// The loss is zero; its gradient is infinity times zero.
TEST(RecoveryTest, AGradientThatIsNotFiniteTeachesNothingAndIsCounted) {
  LearningNetwork learned("sequential", {3}, {}, std::make_unique<FunctionLoss>(InfiniteGradient));
  const std::vector<at::Tensor> start = learned.weights();
  learned.Learn(5);
  EXPECT_TRUE(Equal(learned.weights(), start));
  EXPECT_EQ(learned.network().updates(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(learned.network().gradients_not_finite(), 10)
      << "of the last stage's weights, and on the way to the first";
}

// Each prediction is fine, and no update is.
TEST(RecoveryTest, UpdatesThatAreAllLeftOutAreAReasonToGoBack) {
  std::unique_ptr<Recovery> recovery;
  auto loss = std::make_unique<FunctionLoss>(
      InfiniteGradient, [&](const StageOutput& output, const LossValue& /*value*/) {
        static_cast<void>(
            recovery->detector().Add({.sample = output.sample, .loss = 0.5, .loss_no_motion = 1}));
        recovery->OnScored({.sample = output.sample, .learned = true});
      });
  LearningNetwork learning("sequential", {3}, {}, std::move(loss));
  recovery = RecoveryOf(learning, {.divergence = {.max_refused = 5}});
  learning.Learn(5);
  EXPECT_FALSE(recovery->RollBackIsDue()) << "what came of the fifth is not known yet";
  learning.SwitchTo("sequential", {3});
  learning.Learn(1);
  ASSERT_TRUE(recovery->RollBackIsDue());
  learning.SwitchTo("sequential", {3});
  recovery->RollBack();
  EXPECT_FALSE(recovery->RollBackIsDue());
}

// Learns from one prediction after the other, whose ratios are given: each a window of its own, and
// after each a snapshot.
class JudgedRun {
 public:
  /// Of the last sample.
  enum class Judged { kBeforeItsCopy, kAfterItsCopy };

  explicit JudgedRun(int checkpoint_every) : every_(checkpoint_every) {}
  ~JudgedRun() {
    recovery_.reset();
    fs::remove_all(folder_);
  }

  void Learn(const std::vector<double>& ratios, Judged judged) {
    auto loss = std::make_unique<FunctionLoss>(
        LossByInput, [&](const StageOutput& output, const LossValue& /*value*/) {
          static_cast<void>(recovery_->detector().Add(
              {.sample = output.sample, .loss = ratios.at(output.sample), .loss_no_motion = 1}));
          if (judged == Judged::kBeforeItsCopy) OnScored(output.sample);
        });
    const auto on_update = [&](const Step& update) {
      recovery_->OnUpdate(update);
      if (judged == Judged::kAfterItsCopy) OnScored(update.first);
    };
    learning_.emplace("sequential", Cuts{}, on_update, std::move(loss));
    const auto position = [this] {
      kept_by_.push_back(scored_);
      return SourcePosition();
    };
    recovery_ =
        RecoveryOf(*learning_, {.divergence = {.window = 1, .max_loss = 3},
                                .copy_every = 1,
                                .checkpoints = {.folder = folder_.string(), .every = every_},
                                .hooks = {.position = position}});
    learning_->Learn(static_cast<int>(ratios.size()));
  }
  /// Ends the run, and returns its newest checkpoint.
  std::optional<Checkpoint> End() {
    EXPECT_TRUE(recovery_->Finish(/*finished=*/false).ok());
    return Checkpoints::Find({.folder = folder_.string()}, learning_->chain())->newest;
  }
  /// The samples whose predictions made a snapshot a checkpoint.
  [[nodiscard]] const std::vector<std::int64_t>& kept_by() const { return kept_by_; }

 private:
  void OnScored(std::int64_t sample) {
    scored_ = sample;
    recovery_->OnScored({.sample = sample, .learned = true});
  }

  const int every_;
  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           (std::string("recovery_test_") +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                            std::to_string(::getpid()));
  std::optional<LearningNetwork> learning_;
  std::unique_ptr<Recovery> recovery_;
  std::int64_t scored_ = -1;
  std::vector<std::int64_t> kept_by_;
};

// The weights after the third sample are known by the fourth prediction, and it is bad.
TEST(RecoveryTest, WhatIsKeptIsKnownByItsOwnWindowWhoeverIsFirst) {
  for (const auto judged : {JudgedRun::Judged::kBeforeItsCopy, JudgedRun::Judged::kAfterItsCopy}) {
    JudgedRun run(/*checkpoint_every=*/1);
    run.Learn({0.5, 0.5, 0.5, 1.5, 1.5}, judged);
    EXPECT_EQ(run.kept_by(), (std::vector<std::int64_t>{1, 2}));
    const std::optional<Checkpoint> newest = run.End();
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->network.sample, 1);
  }
}

// A prediction that is refused proves nothing, and says nothing of weights that have proven good.
TEST(RecoveryTest, WhatHasProvenGoodKeepsItsRatio) {
  JudgedRun run(/*checkpoint_every=*/1000);
  run.Learn({0.5, 0.5, 0.25, 5}, JudgedRun::Judged::kBeforeItsCopy);
  EXPECT_TRUE(run.kept_by().empty());
  const std::optional<Checkpoint> last = run.End();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->network.sample, 1);
  EXPECT_EQ(last->score, 0.25);
}

// After learning has been given up the rate is 0 everywhere. A caller that sets a rate restarts it.
class GivenUpTest : public ::testing::Test {
 protected:
  GivenUpTest() {
    for (int i = 0; i < RateBackoff::kMaxRollBacks; ++i) {
      EXPECT_FALSE(recovery_->gave_up()) << "after " << i;
      GoWrong();
      EXPECT_TRUE(recovery_->RollBackIsDue()) << "after " << i;
      learning_.SwitchTo("sequential", {});
      recovery_->RollBack();
    }
  }
  void GoWrong() {
    static_cast<void>(recovery_->detector().Add({.finite = false}));
    recovery_->OnScored({.sample = 0, .learned = true});
  }

  LearningNetwork learning_{"sequential", {}};
  StagedNetwork& network_ = learning_.network();
  const std::unique_ptr<Recovery> recovery_ =
      RecoveryOf(learning_, {.divergence = {.max_refused = 1}});
};

TEST_F(GivenUpTest, LearnsNothingAndGoesBackNoMore) {
  EXPECT_TRUE(recovery_->gave_up());
  EXPECT_EQ(recovery_->figures().roll_backs, RateBackoff::kMaxRollBacks);
  for (int i = 0; i < RateBackoff::kRecoverAfter; ++i) GoWrong();
  EXPECT_TRUE(recovery_->gave_up()) << "what is predicted meanwhile is no recovery";
  EXPECT_FALSE(recovery_->RollBackIsDue());
  EXPECT_EQ(network_.learning_rate_scale(), 0);
  EXPECT_EQ(recovery_->rate_share(), 1.0 / 4096) << "for the next process";
}

TEST_F(GivenUpTest, AnotherRateIsTriedWhole) {
  recovery_->SetRateFactor(0.5);
  EXPECT_FALSE(recovery_->gave_up());
  EXPECT_EQ(network_.learning_rate_scale(), 0.5);
}

TEST_F(GivenUpTest, AnotherOptimizerChangesNoShareBeforeThat) {
  recovery_->SetRateFactor(0.5);
  GoWrong();
  learning_.SwitchTo("sequential", {});
  recovery_->RollBack();
  const double share = recovery_->rate_share();
  recovery_->OnOptimizer();
  EXPECT_EQ(recovery_->rate_share(), share) << "it had not been given up";
}

TEST_F(GivenUpTest, AnotherOptimizerIsTriedWithTheWholeRate) {
  recovery_->OnOptimizer();
  EXPECT_FALSE(recovery_->gave_up());
  EXPECT_EQ(network_.learning_rate_scale(), 1);
}

TEST_F(GivenUpTest, TheSameRateIsTriedWithTheShareThatWasLeft) {
  recovery_->SetRateFactor(0);  // A learner of labels that is frozen.
  EXPECT_TRUE(recovery_->gave_up());
  recovery_->SetRateFactor(1);
  EXPECT_FALSE(recovery_->gave_up());
  EXPECT_EQ(network_.learning_rate_scale(), 1.0 / 4096);
}

// A run that ended there tells what every stage holds after a sample; the copies that were made
// while the pipeline went on must be that, with all that the optimizers keep. (Not under partime,
// whose stages learn from a sample with the activations of later ones.)
TEST(SnapshotCollectorTest, CopiesEveryStageAfterTheSameSample) {
  for (const std::string schedule : {"one_f_one_b_star", "recompute", "gpipe", "pipedream"}) {
    std::vector<NetworkState> collected;
    SnapshotCollector collector(10, [&](NetworkState s) { collected.push_back(std::move(s)); });
    StagedNetwork* network = nullptr;
    LearningNetwork learned(schedule, {2, 4},
                            [&](const Step& update) { collector.OnUpdate(*network, update); });
    network = &learned.network();
    learned.Learn(60);
    ASSERT_GE(collected.size(), 4U) << schedule;
    for (const NetworkState& state : collected) {
      LearningNetwork ended(schedule, {2, 4});
      ended.Learn(static_cast<int>(state.sample) + 1);
      ExpectSame(state.layers, ended.network().store().Save(), schedule);
    }
  }
}

constexpr int kSide = kWavesSide;

// With a learning rate that destroys any network, it goes wrong, rolls back and continues. Every
// sample is predicted. Right after the roll-back, its flow is that of the first weights, which see
// no motion.
TEST(RecoveryTest, ALearnerThatExplodesComesBackAndGoesOn) {
  std::mutex mu;
  std::vector<ModelPrediction> predictions;
  auto learner = MakeFlowLearner(
      {.width = kSide,
       .height = kSide,
       .stages = 2,
       .optimizer = {.learning_rate = 0.5},
       .copy_every = 10},
      {.network = "flow", .learning = {.divergence = {.window = 10, .max_refused = 5}}},
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
TEST(RecoveryTest, ALearnerWhoseRateIsFarTooHighEndsPlausible) {
  for (const double rate : {0.05, 1.0}) {
    std::mutex mu;
    std::vector<SkipReason> skipped;
    auto learner = MakeFlowLearner({.width = kSide,
                                    .height = kSide,
                                    .schedule = "sequential",
                                    .stages = 1,
                                    .optimizer = {.learning_rate = rate},
                                    .copy_every = 10},
                                   {.learning = {.divergence = {.window = 10, .max_refused = 5}}},
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
    EXPECT_LE(roll_backs, RateBackoff::kMaxRollBacks) << rate;
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
TEST(RecoveryTest, ARateThatIsSetHoldsWhateverIsLearnedMeanwhile) {
  LearningNetwork learning("sequential", {});
  StagedNetwork& network = learning.network();
  const std::unique_ptr<Recovery> recovery = RecoveryOf(learning, {});
  std::atomic<std::int64_t> learned = 0;
  const std::jthread learner([&](const std::stop_token& stop) {
    for (std::int64_t i = 0; !stop.stop_requested(); ++i) {
      recovery->OnScored({.sample = i, .learned = true});
      learned = i;
    }
  });
  for (int i = 0; learned < 500'000; ++i) {
    const double factor = i % 2 == 0 ? 0.5 : 0.25;
    recovery->SetRateFactor(factor);
    ASSERT_EQ(network.learning_rate_scale(), factor) << "after " << i;
  }
}

TEST(RecoveryTest, TellsThatTheStreamHasChangedWithin200Samples) {
  constexpr int kChange = 400;
  std::mutex mu;
  std::vector<std::int64_t> drifts;
  auto learner = MakeFlowLearner(
      {.width = kSide, .height = kSide, .stages = 2, .optimizer = {.learning_rate = 1e-3}}, {},
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
TEST(RecoveryTest, NothingIsLearnedFromARepeatedPicture) {
  std::mutex mu;
  std::vector<SkipReason> skipped;
  auto learner = MakeFlowLearner({.width = kSide, .height = kSide, .stages = 2}, {},
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
