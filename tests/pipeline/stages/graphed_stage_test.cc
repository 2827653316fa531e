// The part of graphed stages that the plan decides. gpu_test runs graphed stages.
#include "pipeline/stages/graphed_stage.h"

#include <gtest/gtest.h>

#include "pipeline/device/device_graphs.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {
namespace {

Plan PlanOf(const std::string& schedule, bool separate = false, int samples = 0) {
  constexpr int kStages = 4;
  ScheduleRequest request{.shape = {.stages = kStages, .skips = {}}};
  request.costs.assign(kStages, kAssumedCost);
  request.separate_backwards = separate;
  request.samples = samples;
  return *MakePlan(schedule, request);
}

// Where two samples share a slot, the older one is gone from every ring when the newer one comes,
// and their backwards are as far apart in their stages' orders.
TEST(GraphedStageTest, ASlotIsTakenAgainWhenItsSampleIsGone) {
  for (const std::string& schedule : ScheduleNames()) {
    const Plan plan = PlanOf(schedule);
    const int slots = SlotCount(plan);
    const Dependencies dependencies(plan);
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      EXPECT_GE(slots, plan.rules(stage).slots) << schedule;
      for (std::int64_t sample = 0; sample < 3L * slots; ++sample) {
        const auto position = [&](std::int64_t s) {
          return dependencies.Position(OperationKind::kBackward, stage, s);
        };
        EXPECT_EQ(position(sample + slots), position(sample) + slots) << schedule;
      }
    }
    for (const Channel& channel : plan.channels) {
      EXPECT_GE(slots, channel.slots) << schedule;
      EXPECT_GE(slots, channel.gradient_slots) << schedule;
    }
  }
}

// A graphed stage whose samples find their version elsewhere stays eager, which gpu_learning_test
// would see.
TEST(GraphedStageTest, AStageHoldsAllVersionsAndASlotReadsTheSamePlace) {
  for (const std::string schedule : {"pipedream", "pipedream_2bw"}) {
    const Plan plan = PlanOf(schedule);
    const int slots = SlotCount(plan);
    ASSERT_EQ(slots % plan.samples_per_pattern, 0);
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      EXPECT_GE(VersionsHeld(plan, stage), plan.rules(stage).versions);
      EXPECT_EQ(slots / plan.samples_per_pattern % VersionsHeld(plan, stage), 0) << schedule;
    }
    EXPECT_GT(VersionsHeld(plan, 1), 1);
    EXPECT_EQ(VersionsHeld(PlanOf("pipedream"), 4), 1) << "the last reads one";
  }
}

class NoPool final : public GraphPool {
 public:
  std::unique_ptr<DeviceGraph> Capture(absl::FunctionRef<void()> /*work*/) override {
    return nullptr;
  }
};

// A graph that is launched again destroys the results of graphs in its pool. A slot's backward may
// share its forward's pool only if it is of the sample whose activations it uses.
TEST(GraphedStageTest, EachSlotHasItsOwnMemory) {
  SetGraphPools([](at::Device /*device*/) -> GraphPool* { return new NoPool; });
  for (const std::string& schedule : ScheduleNames()) {
    const Plan plan = PlanOf(schedule);
    const auto pools = GraphedStage::NewPools(at::Device(at::kCUDA, 0), plan);
    ASSERT_TRUE(pools.ok()) << pools.status();
    EXPECT_EQ(pools->forward.size(), SlotCount(plan)) << schedule;
    EXPECT_EQ(pools->backward.size(), schedule == "partime" ? SlotCount(plan) : 0) << schedule;
  }
  SetGraphPools(absl::FailedPreconditionError("the test is over"));
}

TEST(GraphedStageTest, AStageOfManySlotsIsNotCaptured) {
  EXPECT_EQ(WhyPlanIsNotCaptured(PlanOf("gpipe", /*separate=*/false, 32), 1), "");
  EXPECT_EQ(WhyPlanIsNotCaptured(PlanOf("gpipe", /*separate=*/false, 33), 1),
            "the schedule keeps 33 samples, and each needs graphs of its own; 32 can have them");
}

TEST(GraphedStageTest, AStageOfSeveralStreamsIsNotCaptured) {
  EXPECT_EQ(WhyPlanIsNotCaptured(PlanOf("partime"), 1), "");
  EXPECT_EQ(WhyPlanIsNotCaptured(PlanOf("pipedream"), 1), "");
  const Plan separate = PlanOf("stale", /*separate=*/true);
  EXPECT_EQ(WhyPlanIsNotCaptured(separate, 1), "its operations are in several streams");
}

}  // namespace
}  // namespace millrace::pipeline
