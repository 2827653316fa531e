#include "pipeline/engine/phased_engine.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

constexpr int kSamples = 60;
constexpr int kSwitchAt = 25;
constexpr double kLearningRate = 0.02;

// Stages for each phase. The stages of a later phase start with the weights of the earlier one.
class PhasedStages {
 public:
  explicit PhasedStages(const Phases& phases) { Begin(phases.front()); }

  void Begin(const Phase& phase) {
    auto next = std::make_unique<FakeStages>(phase.plan, kLearningRate);
    if (stages_) next->set_weights(stages_->weights());
    first_sample_ = phase.first_sample;
    stages_ = std::move(next);
    ++phases_begun_;
  }
  FakeStages& stages() { return *stages_; }
  [[nodiscard]] std::vector<double> weights() const { return stages_->weights(); }
  [[nodiscard]] std::int64_t first_sample() const { return first_sample_; }
  [[nodiscard]] int phases_begun() const { return phases_begun_; }

 private:
  std::unique_ptr<FakeStages> stages_;
  std::int64_t first_sample_ = 0;
  int phases_begun_ = 0;
};

Phases HybridPhases(int stages) {
  ScheduleRequest request = RequestOf(ShapeWithSkips(stages));
  request.switch_at = kSwitchAt;
  return *MakePhases("hybrid", request);
}

// Phases at work on their stages, from the first sample to the last.
class PhasedRun {
 public:
  explicit PhasedRun(const Phases& phases) : first_(phases.front().first_sample), phased_(phases) {
    auto engine =
        PhasedEngine::Start({.phases = phases,
                             .run =
                                 [this](const Step& step) {
                                   Run(step);
                                   return true;
                                 },
                             .on_switch = [this](const Phase& phase) { BeginIdle(phase); }});
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }

  // Admits the samples before `end` that have not been. Their numbers go on.
  void AdmitUntil(int end) {
    for (; admitted_ < end; ++admitted_) {
      ASSERT_TRUE(engine_->AwaitRoom().ok());
      const auto number = engine_->Admit([&](std::int64_t n) { phased_.stages().Admit(n); });
      ASSERT_TRUE(number.ok()) << number.status();
      ASSERT_EQ(*number, admitted_);
    }
  }
  void Switch(const Plan& plan) {
    const absl::Status switched = engine_->Switch(plan, [this](const Phase& phase) {
      BeginIdle(phase);
      return absl::OkStatus();
    });
    ASSERT_TRUE(switched.ok()) << switched;
  }
  void Pause() {
    const absl::Status paused = engine_->Pause([this](const Phase& phase) { BeginIdle(phase); });
    ASSERT_TRUE(paused.ok()) << paused;
  }
  void ExpectNoSampleIsLost() {
    ASSERT_TRUE(engine_->Drain().ok());
    ExpectAllLearned();
  }

  [[nodiscard]] const PhasedStages& phased() const { return phased_; }

 private:
  void Run(const Step& step) {
    Jitter();
    phased_.stages().Run(step);
    if (step.kind == OperationKind::kUpdate && step.stage == 1) {
      learned_.push_back(phased_.first_sample() + step.first);
    }
  }
  void BeginIdle(const Phase& phase) {
    EXPECT_EQ(phase.first_sample, admitted_);
    ExpectAllLearned();
    phased_.Begin(phase);
  }
  void ExpectAllLearned() const {
    std::vector<std::int64_t> all(admitted_ - first_);
    std::iota(all.begin(), all.end(), first_);
    EXPECT_EQ(learned_, all);
  }

  const std::int64_t first_;
  PhasedStages phased_;
  std::vector<std::int64_t> learned_;  // By stage 1, in its order.
  std::int64_t admitted_ = first_;
  std::unique_ptr<PhasedEngine> engine_;  // Last: its workers use what is above.
};

// The stages' weights after serial runs of these plans, each on its number of samples.
std::vector<double> WeightsOfSerialRuns(const std::vector<std::pair<Plan, int>>& runs) {
  std::vector<double> weights;
  for (const auto& [bounded, samples] : runs) {
    const Plan plan = WithoutBounds(bounded, samples);
    FakeStages stages(plan, kLearningRate);
    if (!weights.empty()) stages.set_weights(weights);
    Serially(plan, samples, stages);
    weights = stages.weights();
  }
  return weights;
}

TEST(PhasedEngineTest, HybridLosesNoSampleAndNumbersGoOn) {
  PhasedRun run(HybridPhases(3));
  run.AdmitUntil(kSwitchAt);
  EXPECT_EQ(run.phased().phases_begun(), 1);
  run.AdmitUntil(kSwitchAt + 1);
  EXPECT_EQ(run.phased().phases_begun(), 2);
  run.AdmitUntil(kSamples);
  EXPECT_EQ(run.phased().phases_begun(), 2);
  run.ExpectNoSampleIsLost();
}

TEST(PhasedEngineTest, EachPhaseEqualsItsSerialRun) {
  const Phases phases = HybridPhases(3);
  PhasedRun run(phases);
  run.AdmitUntil(kSamples);
  run.ExpectNoSampleIsLost();
  EXPECT_EQ(run.phased().weights(), WeightsOfSerialRuns({{phases[0].plan, kSwitchAt},
                                                         {phases[1].plan, kSamples - kSwitchAt}}));
}

TEST(PhasedEngineTest, SwitchesToAnyPlanBetweenTwoSamplesAndLosesNone) {
  const Plan next = PlanOf("one_f_one_b_star", 3);
  PhasedRun run(HybridPhases(3));
  run.AdmitUntil(10);
  run.Switch(next);
  run.AdmitUntil(40);
  run.Switch(next);
  run.AdmitUntil(kSamples);
  EXPECT_EQ(run.phased().phases_begun(), 3)
      << "what was to come at the hybrid's switch is given up";
  run.ExpectNoSampleIsLost();
}

TEST(PhasedEngineTest, SwitchesToAPlanWithFewerStages) {
  PhasedRun run({{.plan = PlanOf("one_f_one_b_star", 3), .first_sample = 0}});
  run.AdmitUntil(20);
  run.Switch(PlanOf("one_f_one_b_star", 2));
  run.AdmitUntil(40);
  run.ExpectNoSampleIsLost();
}

TEST(PhasedEngineTest, PausesWhileNothingRunsAndLosesNoSample) {
  const Plan plan = PlanOf("one_f_one_b_star", 3);
  PhasedRun run({{.plan = plan, .first_sample = 0}});
  for (int sample : {0, 1, 10, 10, 40}) {
    run.AdmitUntil(sample);
    run.Pause();
  }
  run.AdmitUntil(kSamples);
  EXPECT_EQ(run.phased().phases_begun(), 1 + 5);
  run.ExpectNoSampleIsLost();
}

TEST(PhasedEngineTest, GoesOnWithTheSamePlanAfterAPause) {
  const Plan plan = PlanOf("one_f_one_b_star", 3);
  PhasedRun run({{.plan = plan, .first_sample = 0}});
  run.AdmitUntil(20);
  run.Pause();
  run.AdmitUntil(kSamples);
  run.ExpectNoSampleIsLost();
  EXPECT_EQ(run.phased().weights(), WeightsOfSerialRuns({{plan, 20}, {plan, kSamples - 20}}));
}

TEST(PhasedEngineTest, PhasesThatAreStillToComeSurviveAPause) {
  const Phases phases = HybridPhases(3);
  PhasedRun run(phases);
  run.AdmitUntil(10);
  run.Pause();
  run.AdmitUntil(kSwitchAt);
  EXPECT_EQ(run.phased().phases_begun(), 2);
  run.AdmitUntil(kSwitchAt + 1);
  EXPECT_EQ(run.phased().phases_begun(), 3) << "the hybrid switches at its sample";
  EXPECT_EQ(run.phased().first_sample(), kSwitchAt);
  run.AdmitUntil(kSamples);
  run.ExpectNoSampleIsLost();
  EXPECT_EQ(run.phased().weights(), WeightsOfSerialRuns({{phases[0].plan, 10},
                                                         {phases[0].plan, kSwitchAt - 10},
                                                         {phases[1].plan, kSamples - kSwitchAt}}));
}

// The phase has begun before the pause, which is its: it does not begin a second time.
TEST(PhasedEngineTest, APauseWhereAPhaseBeginsIsThatPhases) {
  const Phases phases = HybridPhases(3);
  PhasedRun run(phases);
  run.AdmitUntil(kSwitchAt);
  run.Pause();
  EXPECT_EQ(run.phased().phases_begun(), 3) << "the first, the second, and that after the pause";
  run.AdmitUntil(kSamples);
  EXPECT_EQ(run.phased().phases_begun(), 3);
  run.ExpectNoSampleIsLost();
  EXPECT_EQ(run.phased().weights(), WeightsOfSerialRuns({{phases[0].plan, kSwitchAt},
                                                         {phases[1].plan, kSamples - kSwitchAt}}));
}

TEST(PhasedEngineTest, APauseRightAfterASwitchIsTheLaterPhases) {
  const Phases phases = HybridPhases(3);
  PhasedRun run(phases);
  run.AdmitUntil(kSwitchAt + 1);
  run.Pause();
  run.AdmitUntil(kSamples);
  run.ExpectNoSampleIsLost();
  EXPECT_EQ(run.phased().weights(),
            WeightsOfSerialRuns({{phases[0].plan, kSwitchAt},
                                 {phases[1].plan, 1},
                                 {phases[1].plan, kSamples - kSwitchAt - 1}}));
}

TEST(PhasedEngineTest, NumbersGoOnFromTheFirstPhasesFirstSample) {
  PhasedRun run(PhasesFrom(HybridPhases(3), 10));
  run.AdmitUntil(kSwitchAt);
  EXPECT_EQ(run.phased().phases_begun(), 1);
  run.AdmitUntil(kSamples);
  EXPECT_EQ(run.phased().phases_begun(), 2);
  run.ExpectNoSampleIsLost();
}

TEST(PhasedEngineTest, WhatHasFailedIsNotPaused) {
  auto engine = PhasedEngine::Start({.phases = HybridPhases(2), .run = [](const Step& step) {
                                       if (step.first == 3) throw std::runtime_error("broken");
                                       return true;
                                     }});
  ASSERT_TRUE(engine.ok());
  for (int sample = 0; sample < 4; ++sample) (void)(*engine)->Admit([](std::int64_t) {});
  const absl::Status paused = (*engine)->Pause([](const Phase&) { FAIL(); });
  EXPECT_THAT(std::string(paused.message()), ::testing::HasSubstr("broken"));
}

TEST(PhasedEngineTest, APlanThatCannotRunChangesNothing) {
  auto engine =
      PhasedEngine::Start({.phases = HybridPhases(2), .run = [](const Step&) { return true; }});
  ASSERT_TRUE(engine.ok());
  Plan broken = HybridPhases(2)[1].plan;
  broken.devices.pop_back();
  EXPECT_FALSE((*engine)
                   ->Switch(broken,
                            [](const Phase&) {
                              ADD_FAILURE();
                              return absl::OkStatus();
                            })
                   .ok());
  EXPECT_EQ(*(*engine)->Admit([](std::int64_t) {}), 0);
  EXPECT_TRUE((*engine)->Drain().ok());
}

TEST(PhasedEngineTest, ChecksEveryPlanBeforeItStarts) {
  Phases phases = HybridPhases(2);
  phases[1].plan.devices.pop_back();
  EXPECT_FALSE(
      PhasedEngine::Start({.phases = phases, .run = [](const Step&) { return true; }}).ok());
}

TEST(PhasedEngineTest, FailureOfAPhaseEndsTheStreamAtTheSwitch) {
  auto engine = PhasedEngine::Start({.phases = HybridPhases(2), .run = [](const Step& step) {
                                       if (step.first == 3) throw std::runtime_error("broken");
                                       return true;
                                     }});
  ASSERT_TRUE(engine.ok());
  absl::Status status;
  for (int sample = 0; sample < kSamples && status.ok(); ++sample) {
    status = (*engine)->Admit([](std::int64_t) {}).status();
  }
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("broken"));
}

}  // namespace
}  // namespace millrace::pipeline
