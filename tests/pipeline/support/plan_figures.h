// Plans of equal stages, and their values, for tests.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "pipeline/plan/plan_checker.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

inline ScheduleRequest EqualStages(int stages, StageCost cost = kAssumedCost) {
  return {.shape = {.stages = stages, .skips = {}}, .costs = std::vector<StageCost>(stages, cost)};
}

inline std::vector<int> FiguresOf(const Plan& plan, int StageFigures::*figure) {
  const auto figures = CheckPlan(plan);
  EXPECT_TRUE(figures.ok()) << figures.status();
  std::vector<int> result;
  for (const StageFigures& stage : *figures) result.push_back(stage.*figure);
  return result;
}

}  // namespace millrace::pipeline
