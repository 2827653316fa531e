#include "pipeline/plan/dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// What `step` of `plan`, of one sample a pattern, wants `stage` to have passed.
std::int64_t Wanted(const Plan& plan, const Step& step, OperationKind kind, int stage) {
  const Dependencies dependencies(plan);
  const auto& order = plan.devices.at(step.stage - 1);
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (order[place].kind != step.kind) continue;
    for (const Dependency& dependency : dependencies.of(step.stage - 1, place)) {
      if (dependency.kind == kind && dependency.stage == stage) {
        return dependency.samples + step.first;
      }
    }
  }
  return 0;
}

TEST(DependenciesTest, PartimesBackwardWaitsForItsNewestActivations) {
  const Plan plan = PlanOf("partime", 3);
  EXPECT_EQ(Wanted(plan, {kBackward, 1, 10, 10}, kForward, 1), 10 + 4 + 1);
  EXPECT_EQ(Wanted(plan, {kBackward, 1, 10, 10}, kBackward, 2), 10 + 1);
}

TEST(DependenciesTest, AForwardWaitsForASlotWhoseReaderIsDone) {
  const Plan plan = PlanOf("one_f_one_b_star", 2);
  const Step step{kForward, 1, 10, 10};
  EXPECT_EQ(Wanted(plan, step, kForward, 0), 11) << "its input";
  EXPECT_EQ(Wanted(plan, step, kForward, 2), 9) << "the reader of sample 8, two slots before";
  EXPECT_EQ(Wanted(plan, step, kBackward, 1), 9)
      << "the backward that frees sample 8's activations";
}

TEST(DependenciesTest, APortalsGradientComesBackTheSameWay) {
  const Plan plan = *MakePlan("partime", RequestOf({.stages = 4, .skips = {{1, 4}}}));
  EXPECT_EQ(Wanted(plan, {kBackward, 1, 10, 10}, kBackward, 4), 11);
  EXPECT_EQ(Wanted(plan, {kBackward, 4, 10, 10}, kBackward, 1), 10 + 1 - 7);
}

TEST(DependenciesTest, WithoutAGradientNobodyWaitsForOne) {
  const Plan plan = PlanOf("local", 3);
  EXPECT_EQ(Wanted(plan, {kBackward, 1, 10, 10}, kBackward, 2), 0);
}

// On 2K + 1 devices the forward of sample t reads the weights after update t - 2(D-h) - 1, and that
// update's successor waits for it: no race decides.
TEST(DependenciesTest, ForwardsAndUpdatesOnTwoDevicesWaitForEachOther) {
  ScheduleRequest request = RequestOf({.stages = 3, .skips = {}});
  request.separate_backwards = true;
  const Plan plan = *MakePlan("stale", request);
  EXPECT_EQ(Wanted(plan, {kForward, 1, 10, 10}, kUpdate, 1), 10 - 4);
  const Dependencies dependencies(plan);
  const std::size_t device = 4;  // Stage 1 goes backward there.
  ASSERT_EQ(plan.devices.at(device).at(1).kind, kUpdate);
  bool found = false;
  for (const Dependency& dependency : dependencies.of(device, 1)) {
    found = found || dependency == Dependency{kForward, 1, 4 + 1};
  }
  EXPECT_TRUE(found) << "U1(6) waits for F1(10), which reads what it replaces";
}

TEST(DependenciesTest, PositionsFollowTheOrderOfTheStage) {
  ScheduleRequest request = RequestOf({.stages = 2, .skips = {}});
  request.samples = 4;
  const Dependencies dependencies(*MakePlan("gpipe", request));
  EXPECT_EQ(dependencies.Position(kForward, 1, 5), 6);
  EXPECT_EQ(dependencies.Position(kBackward, 1, 7), 5) << "the last of a pattern goes first";
  EXPECT_EQ(dependencies.Position(kBackward, 1, 4), 8);
  EXPECT_LE(dependencies.Position(kBackward, 1, -1), 0);
}

TEST(DependenciesTest, StepsSayWhatTheyAre) {
  EXPECT_EQ(ToString({kForward, 2, 17, 17}), "F2(17)");
  EXPECT_EQ(ToString({kUpdate, 1, 4, 7}), "U1(4..7)");
}

}  // namespace
}  // namespace millrace::pipeline
