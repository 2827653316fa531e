#include "pipeline/engine/admission_gate.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

struct Work {
  double start = 0;
  double cost = 0;
  bool waited = false;
};

// Puts an operation on the gate's books.
void Do(AdmissionGate& gate, const PlanCursor& at, const Work& work) {
  gate.OnStart(at, work.start, work.waited);
  gate.OnEnd(at.device(), at.step(), work.start + work.cost);
}

TEST(AdmissionGateTest, IsOpenWhileNothingRuns) {
  const ScheduleRequest request = RequestOf({.stages = 2, .skips = {}});
  const Plan plan = *MakePlan("one_f_one_b_star", request);
  AdmissionGate gate(plan, request.costs);
  EXPECT_LE(gate.Opens(100), 100);
}

TEST(AdmissionGateTest, HoldsASampleThatTheLastStageIsNotReadyFor) {
  // Stage 1 is quick, stage 2 takes 3: what stage 1 makes before then only waits.
  const std::vector<StageCost> costs = {{.forward = 0.25, .backward = 0.25},
                                        {.forward = 1, .backward = 2}};
  const Plan plan =
      *MakePlan("one_f_one_b_star", {.shape = {.stages = 2, .skips = {}}, .costs = costs});
  AdmissionGate gate(plan, costs);
  gate.OnAdmission(false);
  Do(gate, {plan, 0, 0, 0}, {10, 0.25});
  gate.OnStart({plan, /*device=*/1, /*place=*/0, /*period=*/1}, 10.25, /*waited=*/true);
  // F2 until 11.25, B2 until 13.25; the next forward there is best made at 13.
  EXPECT_NEAR(gate.Opens(10.5), 13.25 - 0.25, 1e-9);
}

TEST(AdmissionGateTest, TheMarginGrowsWhenAStageHadToWaitAndShrinksOtherwise) {
  const ScheduleRequest request = RequestOf({.stages = 2, .skips = {}});
  const Plan plan = *MakePlan("one_f_one_b_star", request);
  AdmissionGate gate(plan, request.costs);
  gate.OnAdmission(/*held=*/true);
  Do(gate, {plan, 0, 0, 0}, {0, 1});
  Do(gate, {plan, 1, 0, 1}, {1, 1, /*waited=*/true});
  const double margin = gate.margin();
  EXPECT_GT(margin, 0);
  gate.OnAdmission(/*held=*/false);
  EXPECT_LT(gate.margin(), margin);
}

// The engine with a gate computes the same numbers.
TEST(AdmissionGateTest, ChangesNoNumber) {
  constexpr int kSamples = 60;
  for (const char* schedule : {"partime", "one_f_one_b_star", "gpipe", "timeprest"}) {
    const Plan plan = PlanOf(schedule, 3);
    FakeStages with(plan, 0.02);
    FakeStages without(plan, 0.02);
    ASSERT_TRUE(InTheEngine(plan, kSamples, without).ok());
    auto engine = Engine::Start({.plan = plan,
                                 .run =
                                     [&](const Step& step) {
                                       with.Run(step);
                                       return true;
                                     },
                                 .gate_costs = std::vector<StageCost>(
                                     3, {.forward = 1e-5, .backward = 2e-5, .update = 1e-6})});
    ASSERT_TRUE(engine.ok());
    for (int sample = 0; sample < kSamples; ++sample) {
      ASSERT_TRUE((*engine)->AwaitRoom().ok());
      ASSERT_TRUE((*engine)->Admit([&](std::int64_t n) { with.Admit(n); }).ok());
    }
    ASSERT_TRUE((*engine)->Drain().ok());
    EXPECT_EQ(with.outputs(), without.outputs()) << schedule;
    EXPECT_EQ(with.weights(), without.weights()) << schedule;
  }
}

}  // namespace
}  // namespace millrace::pipeline
