// The period and the delay of a plan that runs self-timed at constant costs. Exact: not simulated.
//
// Each operation, each admission and each copy between devices is an event that recurs in every
// pattern. It starts once the events that it waits for have ended. Such a system is linear in the
// (max, +) algebra (Baccelli, Cohen, Olsder and Quadrat, "Synchronization and linearity", chapters
// 2 and 3), which gives
//
//   period   the maximum over all cycles of events of
//            (the time of the cycle) / (the number of patterns that it spans)
//   delay    the longest path from an arrival to a prediction
#pragma once

#include <vector>

#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// The rate and the delay of a plan in steady state.
struct SteadyFigures {
  /// Time between two samples.
  double period = 0;
  /// Mean time from arrival to prediction, at one sample each period.
  double delay = 0;
  /// Idle share of the time of each device.
  std::vector<double> idle = {};
};

/// The time between two samples in steady state when samples are always ready: never less than the
/// load of a device or a link. REQUIRES: CheckPlan(plan) is OK; one cost for each stage.
[[nodiscard]] double SteadyPeriod(const Plan& plan, const std::vector<StageCost>& costs);

/// The steady state when a sample arrives every `interval`, or every SteadyPeriod() if that is
/// longer. REQUIRES: as SteadyPeriod().
[[nodiscard]] SteadyFigures Steady(const Plan& plan, const std::vector<StageCost>& costs,
                                   double interval);

}  // namespace millrace::pipeline
