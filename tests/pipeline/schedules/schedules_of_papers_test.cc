// The plans must have the properties that each paper gives for its schedule.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/plan_checker.h"
#include "pipeline/plan/steady_state.h"
#include "tests/pipeline/schedules/version_difference.h"
#include "tests/pipeline/support/engine_runs.h"
#include "tests/pipeline/support/plan_figures.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

// ------------------------------------------------------------------------------------- PARTIME --

// Section III: the backward at stage h uses the gradient of what entered 2(D-h) steps before.
TEST(PartimeTest, MismatchIsTwiceTheDistanceToTheEnd) {
  for (int stages : {1, 2, 5, 16}) {
    const Plan plan = *MakePlan("partime", EqualStages(stages));
    const std::vector<int> mismatch = FiguresOf(plan, &StageFigures::mismatch);
    for (int h = 1; h <= stages; ++h) EXPECT_EQ(mismatch[h - 1], 2 * (stages - h));
  }
}

// In lock-step a prediction is D - 1 periods late; its own order, self-timed, is the sum of the
// forwards late.
TEST(PartimeTest, LockStepIsWhatTheShiftsSay) {
  const Plan plan = *MakePlan("partime", EqualStages(4));
  EXPECT_EQ(plan.devices[3][0].shift, 3);
  EXPECT_DOUBLE_EQ(Steady(plan, EqualStages(4).costs, 3).delay, 4);
}

TEST(RecomputeTest, HasNoMismatchAndMeetsTheWeightsThatMadeItsActivations) {
  const Plan plan = *MakePlan("recompute", EqualStages(4));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::mismatch), Each(0));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::weight_gap), Each(0));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::slots), ElementsAre(7, 5, 3, 1));
}

TEST(LocalTest, NothingIsStaleAndNothingIsKept) {
  const Plan plan = *MakePlan("local", EqualStages(4));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::staleness), Each(0));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::slots), Each(1));
}

TEST(DelayedTest, EveryStageIsEquallyLateAndReadsTheWeightsOfItsForward) {
  for (int stages : {1, 2, 5, 16}) {
    const Plan plan = *MakePlan("delayed", EqualStages(stages));
    EXPECT_THAT(FiguresOf(plan, &StageFigures::staleness), Each(stages - 1));
    EXPECT_THAT(FiguresOf(plan, &StageFigures::gradient_age), Each(stages - 1));
    EXPECT_THAT(FiguresOf(plan, &StageFigures::weight_gap), Each(0));
    EXPECT_THAT(FiguresOf(plan, &StageFigures::mismatch), Each(0));
    EXPECT_EQ(plan.devices.size(), 1);
  }
}

// ----------------------------------------------------------------------------- stale and hybrid --

// Section 4.1: 2(K - i + 1) cycles at forward stage i of K + 1.
TEST(StaleTest, StalenessIsThatOfThePaperOnEitherNumberOfDevices) {
  for (int stages : {2, 3, 4, 6}) {
    ScheduleRequest request = EqualStages(stages);
    const Plan together = *MakePlan("stale", request);
    request.separate_backwards = true;
    const Plan apart = *MakePlan("stale", request);
    EXPECT_EQ(together.devices.size(), stages);
    EXPECT_EQ(apart.devices.size(), 2 * (stages - 1) + 1);
    for (int StageFigures::*figure :
         {&StageFigures::staleness, &StageFigures::weight_gap, &StageFigures::slots}) {
      EXPECT_EQ(FiguresOf(together, figure), FiguresOf(apart, figure));
    }
    const std::vector<int> staleness = FiguresOf(together, &StageFigures::staleness);
    for (int h = 1; h <= stages; ++h) EXPECT_EQ(staleness[h - 1], 2 * (stages - h));
  }
}

TEST(StaleTest, TheNumbersAreTheSameOnEitherNumberOfDevices) {
  constexpr int kSamples = 120;
  ScheduleRequest request = EqualStages(4);
  const Plan together = *MakePlan("stale", request);
  request.separate_backwards = true;
  const Plan apart = *MakePlan("stale", request);
  FakeStages first(together, 0.02);
  FakeStages second(apart, 0.02);
  ASSERT_TRUE(InTheEngine(together, kSamples, first).ok());
  ASSERT_TRUE(InTheEngine(apart, kSamples, second).ok());
  EXPECT_EQ(first.outputs(), second.outputs());
  EXPECT_EQ(first.weights(), second.weights());
}

// On 2K + 1 devices no device does both: the period is the time of the slower one.
TEST(StaleTest, SeparateBackwardsShortenThePeriod) {
  ScheduleRequest request = EqualStages(4);
  request.costs.back() = {.forward = 0.7, .backward = 1.3};
  EXPECT_DOUBLE_EQ(SteadyPeriod(*MakePlan("stale", request), request.costs), 3);
  request.separate_backwards = true;
  EXPECT_DOUBLE_EQ(SteadyPeriod(*MakePlan("stale", request), request.costs), 2);
}

TEST(HybridTest, IsStaleUntilTheSwitchAndSequentialAfterwards) {
  ScheduleRequest request = EqualStages(3);
  request.switch_at = 500;
  const auto phases = MakePhases("hybrid", request);
  ASSERT_TRUE(phases.ok());
  ASSERT_EQ(phases->size(), 2u);
  EXPECT_EQ((*phases)[0].first_sample, 0);
  EXPECT_EQ((*phases)[1].first_sample, 500);
  EXPECT_THAT(FiguresOf((*phases)[0].plan, &StageFigures::staleness), ElementsAre(4, 2, 0));
  EXPECT_THAT(FiguresOf((*phases)[1].plan, &StageFigures::staleness), Each(0));
  request.switch_at = 0;
  EXPECT_FALSE(MakePhases("hybrid", request).ok());
}

// ----------------------------------------------------------------------------------- PipeDream --

// Section 3.3: stage h of n holds n - h + 1 versions, and a backward uses its forward's version.
TEST(PipedreamTest, EachBackwardMeetsTheWeightsOfItsForward) {
  const Plan plan = *MakePlan("pipedream", EqualStages(4));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::versions), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::weight_gap), Each(0));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::gradient_age), ElementsAre(3, 2, 1, 0));
}

// W(t+1) = W(t) - lr * gradient at W(t-1), with two versions, however deep.
TEST(Pipedream2bwTest, TwoVersionsAreEnoughAndGradientsAreOneUpdateOld) {
  for (int stages : {2, 4, 8}) {
    for (int samples : {stages, stages + 1, 2 * stages}) {
      ScheduleRequest request = EqualStages(stages);
      request.samples = samples;
      const Plan plan = *MakePlan("pipedream_2bw", request);
      EXPECT_THAT(FiguresOf(plan, &StageFigures::versions), Each(Le(2)));
      EXPECT_THAT(FiguresOf(plan, &StageFigures::weight_gap), Each(0));
      EXPECT_THAT(FiguresOf(plan, &StageFigures::gradient_age), Each(1));
      EXPECT_DOUBLE_EQ(SteadyPeriod(plan, request.costs), 3) << stages << " " << samples;
    }
  }
}

TEST(Pipedream2bwTest, RefusesFewerSamplesThanStages) {
  ScheduleRequest request = EqualStages(4);
  request.samples = 3;
  EXPECT_FALSE(MakePlan("pipedream_2bw", request).ok());
}

// --------------------------------------------------------------------------------------- GPipe --

// Section 2.3 of GPipe, section 2 of torchgpipe: bubble (D-1)/(m+D-1) at equal stages.
TEST(GpipeTest, IdleShareIsThePapersBubble) {
  for (int stages : {2, 4, 8}) {
    for (int samples : {1, 4, 16}) {
      ScheduleRequest request = EqualStages(stages);
      request.samples = samples;
      request.recompute = Recompute::kNever;
      const Plan plan = *MakePlan("gpipe", request);
      const SteadyFigures figures = Steady(plan, request.costs, 0);
      const double bubble = (stages - 1.0) / (samples + stages - 1.0);
      for (double idle : figures.idle) EXPECT_NEAR(idle, bubble, 1e-9) << stages << " " << samples;
    }
  }
}

TEST(GpipeTest, NoWeightChangesBetweenForwardAndBackward) {
  const Plan plan = *MakePlan("gpipe", EqualStages(4));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::staleness), Each(0));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::weight_gap), Each(0));
  EXPECT_THAT(FiguresOf(plan, &StageFigures::gradient_age), Each(0));
}

TEST(GpipeTest, RecomputesWhatItIsAskedTo) {
  const auto kept = [](Recompute recompute) {
    ScheduleRequest request = EqualStages(2);
    request.recompute = recompute;
    std::vector<bool> again;
    const Plan plan = *MakePlan("gpipe", request);
    for (const Operation& operation : plan.devices[0]) {
      if (operation.kind == OperationKind::kBackward) {
        again.push_back(operation.keeps == Keeps::kInputs);
      }
    }
    return again;  // The last micro-batch first.
  };
  EXPECT_THAT(kept(Recompute::kAlways), ElementsAre(true, true, true, true));
  EXPECT_THAT(kept(Recompute::kExceptLast), ElementsAre(false, true, true, true));
  EXPECT_THAT(kept(Recompute::kNever), ElementsAre(false, false, false, false));
}

// ----------------------------------------------------------------------------------- TiMePReSt --

Plan TimeprestOf(int stages, int samples) {
  ScheduleRequest request = EqualStages(stages);
  request.samples = samples;
  return *MakePlan("timeprest", request);
}

// Section 4.4, eq. 11: v = 1 exactly where W <= N + 1. The paper's (W+N-2)/N (eq. 18) is exact
// up to W = 2N + 1 and too much at 2N + 2: W = 6, N = 2 has v = 2, and the formula says 3.
TEST(TimeprestTest, VersionDifferenceIsCountedAsThePaperSays) {
  for (int stages = 2; stages <= 9; ++stages) {
    for (int samples = 1; samples <= 8; ++samples) {
      const Plan plan = TimeprestOf(stages, samples);
      const auto v = CountVersionDifference(plan);
      ASSERT_TRUE(v.ok()) << v.status();
      EXPECT_EQ(*v == 1, stages <= samples + 1) << stages << " stages, " << samples;
      EXPECT_EQ(*v, (stages - 1) / (samples + 1) + 1) << stages << " stages, " << samples;
      EXPECT_THAT(FiguresOf(plan, &StageFigures::gradient_age), Each(*v - 1));
      const int paper = (stages + samples - 2) / samples;
      EXPECT_TRUE(stages == 1 || *v <= paper) << stages << " stages, " << samples;
      EXPECT_TRUE(stages == 1 || stages > 2 * samples + 1 || *v == paper);
      EXPECT_TRUE(stages != 2 * samples + 2 || *v < paper);
    }
  }
}

// Section 4.1, "GPU memory overhead": no version is kept for a backward.
TEST(TimeprestTest, HoldsFewerVersionsThanPipedream) {
  for (int stages : {3, 4, 8}) {
    const Plan ours = TimeprestOf(stages, stages - 1);
    EXPECT_THAT(FiguresOf(ours, &StageFigures::versions), Each(1));
    const Plan theirs = *MakePlan("pipedream", EqualStages(stages));
    EXPECT_EQ(FiguresOf(theirs, &StageFigures::versions).front(), stages);
  }
}

// Figure 7: a backward every N + 1 time points after the first.
TEST(TimeprestTest, DoesNForwardsToOneBackward) {
  const Plan plan = TimeprestOf(4, 2);
  for (const auto& order : plan.devices) {
    ASSERT_EQ(order.size(), 4u);
    EXPECT_EQ(std::count_if(order.begin(), order.end(),
                            [](const Operation& o) { return o.kind == OperationKind::kForward; }),
              2);
  }
}

}  // namespace
}  // namespace millrace::pipeline
