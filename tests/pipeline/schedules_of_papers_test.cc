// What each paper says of its schedule must come out of the plan.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan_checker.h"
#include "pipeline/simulator.h"
#include "pipeline/version_difference.h"
#include "tests/pipeline/engine_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

ScheduleRequest EqualStages(int stages, StageCost cost = {.forward = 1, .backward = 2}) {
  return {.shape = {.stages = stages, .skips = {}}, .costs = std::vector<StageCost>(stages, cost)};
}

std::vector<int> FiguresOf(const Plan& plan, int StageFigures::*figure) {
  const auto figures = CheckPlan(plan);
  EXPECT_TRUE(figures.ok()) << figures.status();
  std::vector<int> result;
  for (const StageFigures& stage : *figures) result.push_back(stage.*figure);
  return result;
}

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
  EXPECT_DOUBLE_EQ(Steady(plan, EqualStages(4).costs, 3)->delay, 4);
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

// On 2K + 1 devices no device does both: the period is that of the slower of the two.
TEST(StaleTest, SeparateBackwardsShortenThePeriod) {
  ScheduleRequest request = EqualStages(4);
  request.costs.back() = {.forward = 0.7, .backward = 1.3};
  EXPECT_DOUBLE_EQ(*SteadyPeriod(*MakePlan("stale", request), request.costs), 3);
  request.separate_backwards = true;
  EXPECT_DOUBLE_EQ(*SteadyPeriod(*MakePlan("stale", request), request.costs), 2);
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

// Section 3.3: stage h of n holds n - h + 1 versions, and a backward meets that of its forward.
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
      EXPECT_DOUBLE_EQ(*SteadyPeriod(plan, request.costs), 3) << stages << " " << samples;
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
      const auto figures = Steady(plan, request.costs, 0);
      ASSERT_TRUE(figures.ok());
      const double bubble = (stages - 1.0) / (samples + stages - 1.0);
      for (double idle : figures->idle) EXPECT_NEAR(idle, bubble, 1e-9) << stages << " " << samples;
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

// Section 4.4, eq. 11: v = 1 exactly where W <= N + 1. Elsewhere the paper's (W+N-2)/N (eq. 18) is
// an approximation: W = 6, N = 2 has v = 2, and the formula says 3.
TEST(TimeprestTest, VersionDifferenceIsCountedAsThePaperSays) {
  for (int stages = 2; stages <= 9; ++stages) {
    for (int samples = 1; samples <= 8; ++samples) {
      const Plan plan = TimeprestOf(stages, samples);
      const auto v = CountVersionDifference(plan);
      ASSERT_TRUE(v.ok()) << v.status();
      EXPECT_EQ(*v == 1, stages <= samples + 1) << stages << " stages, " << samples;
      EXPECT_EQ(*v, (stages - 1) / (samples + 1) + 1) << stages << " stages, " << samples;
      EXPECT_THAT(FiguresOf(plan, &StageFigures::gradient_age), Each(*v - 1));
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

// ------------------------------------------------------------------------------- Beaumont et al.
// --

// A 1-periodic plan whose stage h has NCA slots[h-1].
Plan WithSlots(const ScheduleRequest& request, const std::vector<int>& slots) {
  Plan plan = *MakePlan("sequential", request);
  for (int i = 0; i < plan.stage_count(); ++i) {
    plan.stages[i].slots = slots[i];
    plan.devices[i][0].shift = slots[0] - slots[i];
    plan.devices[i][1].shift = plan.devices[i][2].shift = slots[0] - 1;
  }
  return plan;
}

void ForAllSlots(int stages, int most, const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> slots(stages, 1);
  for (;;) {
    visit(slots);
    int i = 0;
    while (i < stages && ++slots[i] > most) slots[i++] = 1;
    if (i == stages) return;
  }
}

// Theorem 3, by brute force: where F, B and U of a stage follow each other in every period, a
// 1-periodic pattern is told by its NCAs; none that keeps the period has fewer anywhere.
TEST(OneFOneBStarTest, HasTheLeastNcaOfAllOnePeriodicPatterns) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    ScheduleRequest request = EqualStages(3 + round % 2);
    for (StageCost& cost : request.costs) {
      cost = {.forward = 1.0 + random() % 4, .backward = 1.0 + random() % 6};
    }
    double all = 0;
    for (const StageCost& cost : request.costs) all += cost.total();
    const double least = LeastPeriod(request.costs);
    request.period = least + (all - least) * (round % 5) / 4;
    const Plan star = *MakePlan("one_f_one_b_star", request);
    const std::vector<int> best = FiguresOf(star, &StageFigures::slots);
    EXPECT_LE(*SteadyPeriod(star, request.costs), request.period + 1e-9);
    ForAllSlots(request.shape.stages, request.shape.stages, [&](const std::vector<int>& slots) {
      if (!std::is_sorted(slots.rbegin(), slots.rend())) return;  // Lemma 1's first line.
      const Plan plan = WithSlots(request, slots);
      if (*SteadyPeriod(plan, request.costs) > request.period + 1e-9) return;
      for (std::size_t i = 0; i < slots.size(); ++i) EXPECT_LE(best[i], slots[i]);
    });
  }
}

// Section 5.1: groups are numbered from the end, and NCA is the group's number.
TEST(OneFOneBStarTest, NcaIsTheNumberOfTheGroup) {
  ScheduleRequest request = EqualStages(6);
  request.period = 6;  // Two stages fit into a group.
  EXPECT_THAT(FiguresOf(*MakePlan("one_f_one_b_star", request), &StageFigures::slots),
              ElementsAre(3, 3, 2, 2, 1, 1));
}

// Where each group is one stage, it is PipeDream's 1F1B.
TEST(OneFOneBStarTest, IsOneFOneBWhenEachGroupIsAStage) {
  const Plan star = *MakePlan("one_f_one_b_star", EqualStages(4));
  const Plan pipedream = *MakePlan("pipedream", EqualStages(4));
  ASSERT_EQ(star.devices.size(), pipedream.devices.size());
  for (std::size_t i = 0; i < star.devices.size(); ++i) {
    for (std::size_t j = 0; j < star.devices[i].size(); ++j) {
      EXPECT_EQ(star.devices[i][j].kind, pipedream.devices[i][j].kind);
      EXPECT_EQ(star.devices[i][j].shift, pipedream.devices[i][j].shift);
    }
  }
}

// Theorem 4: P = k + 1 layers of F = B = 1; NCA_1 = k, NCA_{l+1} <= k + 1 - l, period 2(1 + 1/k).
TEST(KPeriodicTest, KeepsFewerSlotsAtTheTheoremsPeriod) {
  for (int k = 1; k <= 6; ++k) {
    ScheduleRequest request = EqualStages(k + 1, {.forward = 1, .backward = 1});
    request.samples = k;
    const Plan plan = *MakePlan("k_periodic", request);
    const std::vector<int> slots = FiguresOf(plan, &StageFigures::slots);
    EXPECT_EQ(slots.front(), k);
    for (int l = 1; l <= k; ++l) EXPECT_LE(slots[l], k + 1 - l);
    EXPECT_NEAR(*SteadyPeriod(plan, request.costs), 2 * (1 + 1.0 / k), 1e-9) << "k = " << k;
  }
}

// Section 6.1: costs 1, 2, 1 on two devices have period 2 when the first and the last share one.
TEST(InterleavedTest, TheirExampleHasPeriodTwo) {
  ScheduleRequest request = EqualStages(3, {.forward = 1.0 / 3, .backward = 2.0 / 3});
  request.costs[1] = {.forward = 2.0 / 3, .backward = 4.0 / 3};
  request.device_of = {0, 1, 0};
  const Plan plan = *MakePlan("interleaved", request);
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan).status();
  EXPECT_NEAR(*SteadyPeriod(plan, request.costs), 2, 1e-9);
  EXPECT_THAT(Steady(plan, request.costs, 2)->idle, Each(Le(1e-9)));
}

TEST(InterleavedTest, RunsAnyPlacement) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const int stages = 1 + static_cast<int>(random() % 7);
    ScheduleRequest request = EqualStages(stages);
    for (StageCost& cost : request.costs) {
      cost = {.forward = 1.0 + random() % 5,
              .backward = 1.0 + random() % 9,
              .update = random() % 3 / 2.0};
      request.device_of.push_back(static_cast<int>(random() % 3));
    }
    const auto plan = MakePlan("interleaved", request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan).status();
  }
}

}  // namespace
}  // namespace millrace::pipeline
