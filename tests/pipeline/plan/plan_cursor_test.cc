#include "pipeline/plan/plan_cursor.h"

#include <gtest/gtest.h>

#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

TEST(PlanCursorTest, WalksThroughAPeriodAndThenTheNext) {
  const Plan plan = PlanOf("partime", 2);  // Stage 1: F, then B and U two patterns later.
  PlanCursor at(plan, /*device=*/0);
  EXPECT_EQ(at.step(), (Step{kForward, 1, 0, 0}));
  EXPECT_FALSE(at.filling());
  EXPECT_FALSE(at.Next());
  EXPECT_EQ(at.operation().kind, kBackward);
  EXPECT_TRUE(at.filling());
  EXPECT_FALSE(at.Next());
  EXPECT_TRUE(at.Next());
  EXPECT_EQ(at.step(), (Step{kForward, 1, 1, 1}));
  EXPECT_EQ(at.place(), 0U);
  EXPECT_EQ(at.period(), 1);
}

TEST(PlanCursorTest, ADeviceWithoutOperationsHasNoCursor) {
  Plan plan = PlanOf("partime", 2);
  plan.devices.insert(plan.devices.begin(), std::vector<Operation>());
  const std::vector<PlanCursor> cursors = CursorsOf(plan);
  ASSERT_EQ(cursors.size(), 2U);
  EXPECT_EQ(cursors[0].device(), 1U);
}

}  // namespace
}  // namespace millrace::pipeline
