// The part of captured stages that the plan decides. gpu_test runs captured stages.
#include "pipeline/stages/captured_stage.h"

#include <gtest/gtest.h>

#include "pipeline/plan/dependencies.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {
namespace {

Plan PlanOf(const std::string& schedule, bool separate = false) {
  constexpr int kStages = 4;
  ScheduleRequest request{.shape = {.stages = kStages, .skips = {}}};
  request.costs.assign(kStages, {.forward = 1, .backward = 2});
  request.separate_backwards = separate;
  return *MakePlan(schedule, request);
}

// Where two samples share a lane, the older one is gone from every ring when the newer one comes,
// and their backwards are as far apart in their stages' orders.
TEST(CapturedStageTest, ALaneIsTakenAgainWhenItsSampleIsGone) {
  for (const std::string& schedule : ScheduleNames()) {
    const Plan plan = PlanOf(schedule);
    const int lanes = LaneCount(plan);
    const Dependencies dependencies(plan);
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      EXPECT_GE(lanes, plan.rules(stage).slots) << schedule;
      for (std::int64_t sample = 0; sample < 3L * lanes; ++sample) {
        const auto position = [&](std::int64_t s) {
          return dependencies.Position(OperationKind::kBackward, stage, s);
        };
        EXPECT_EQ(position(sample + lanes), position(sample) + lanes) << schedule;
      }
    }
    for (const Channel& channel : plan.channels) {
      EXPECT_GE(lanes, channel.slots) << schedule;
      EXPECT_GE(lanes, channel.gradient_slots) << schedule;
    }
  }
}

// A captured stage whose samples find their version elsewhere gives up, which gpu_learning_test
// would see.
TEST(CapturedStageTest, AStageHoldsAllVersionsAndALaneReadsTheSamePlace) {
  for (const std::string schedule : {"pipedream", "pipedream_2bw"}) {
    const Plan plan = PlanOf(schedule);
    const int lanes = LaneCount(plan);
    ASSERT_EQ(lanes % plan.samples_per_pattern, 0);
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      EXPECT_GE(VersionsHeld(plan, stage), plan.rules(stage).versions);
      EXPECT_EQ(lanes / plan.samples_per_pattern % VersionsHeld(plan, stage), 0) << schedule;
    }
    EXPECT_GT(VersionsHeld(plan, 1), 1);
    EXPECT_EQ(VersionsHeld(PlanOf("pipedream"), 4), 1) << "the last reads one";
  }
}

TEST(CapturedStageTest, AStageOfSeveralStreamsIsNotCaptured) {
  EXPECT_EQ(WhyPlanIsNotCaptured(PlanOf("partime"), 1), "");
  EXPECT_EQ(WhyPlanIsNotCaptured(PlanOf("pipedream"), 1), "");
  const Plan separate = PlanOf("stale", /*separate=*/true);
  EXPECT_EQ(WhyPlanIsNotCaptured(separate, 1), "its operations are in several streams");
}

}  // namespace
}  // namespace millrace::pipeline
