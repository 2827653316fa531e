// The engine equals a serial run of the same orders bit for bit, for every schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/plan_checker.h"
#include "tests/pipeline/support/engine_runs.h"
#include "tests/pipeline/support/schedule_cases.h"

namespace millrace::pipeline {
namespace {

class EngineEqualsOracle : public ::testing::TestWithParam<ScheduleCase> {};

TEST_P(EngineEqualsOracle, BitForBitInAnyTiming) {
  constexpr double kLearningRate = 0.02;
  constexpr int kSamples = 203;  // Not a whole number of patterns.
  const ScheduleCase& c = GetParam();
  const absl::StatusOr<Phases> phases = MakePhases(c.schedule, c.request);
  ASSERT_TRUE(phases.ok()) << phases.status();
  for (const Phase& phase : *phases) {
    const Plan& plan = phase.plan;
    ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan).status();
    const Plan roomy = WithoutBounds(plan, kSamples);
    FakeStages oracle(roomy, kLearningRate);
    Serially(roomy, kSamples, oracle);

    FakeStages stages(plan, kLearningRate);
    const absl::Status ran = InTheEngine(plan, kSamples, stages);
    ASSERT_TRUE(ran.ok()) << ran;

    EXPECT_EQ(stages.outputs(), oracle.outputs());
    EXPECT_EQ(stages.weights(), oracle.weights());
    const std::vector<double> untouched = FakeStages(plan, 0).weights();
    for (int stage = 0; stage < plan.stage_count(); ++stage) {
      EXPECT_NE(stages.weights()[stage], untouched[stage])
          << "stage " << stage + 1 << " never learned";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, EngineEqualsOracle, ::testing::ValuesIn(AllScheduleCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace millrace::pipeline
