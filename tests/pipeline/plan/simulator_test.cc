#include "pipeline/plan/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

const std::vector<StageCost> kEqual(4, {.forward = 1, .backward = 2, .update = 0});

TEST(SimulatorTest, BoundedChannelsCapWhatWaitsInside) {
  // Frames are always ready, so every slot on the way fills up.
  const Plan plan = *MakePlan("partime", RequestOf({.stages = 4, .skips = {}}));
  const auto timeline =
      Simulate(plan, {.costs = kEqual, .arrivals = std::vector<double>(200, 0.0)});
  ASSERT_TRUE(timeline.ok());
  const Span admitted = timeline->of(OperationKind::kForward, 0)[150];
  const Span predicted = timeline->predictions()[150];
  EXPECT_LE(predicted.end - admitted.start, 3.0 * 2 * 4 + 4);
}

TEST(SimulatorTest, AStandstillNamesWhatWaits) {
  Plan plan = *MakePlan("sequential", RequestOf({.stages = 2, .skips = {}}));
  // The first stage wants to go backward before the second has seen the sample.
  std::swap(plan.devices[1][0], plan.devices[1][1]);
  const auto timeline = Simulate(plan, {.costs = std::vector<StageCost>(2), .arrivals = {0, 0, 0}});
  EXPECT_EQ(timeline.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(timeline.status().message(), HasSubstr("B1(0), B2(0)"));
}

}  // namespace
}  // namespace millrace::pipeline
