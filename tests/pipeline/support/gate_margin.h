// The margin of the admission gate that a simulation finds best.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "pipeline/planner/live_simulation.h"

namespace millrace::pipeline {

/// The best gate margin among some that grow by halves. Only margins that drop no more frames than
/// no gate, within a thousandth, are allowed; of these, the one with the shortest delay wins.
/// Returns 16 intervals, which has the effect of no gate, if no margin shortens the delay.
[[nodiscard]] inline absl::StatusOr<double> FindGateMargin(const Plan& plan,
                                                           const LiveOptions& options) {
  constexpr double kTolerance = 1e-3;
  constexpr double kMaxIntervals = 16;
  LiveOptions tried = options;
  tried.gate_margin = std::nullopt;
  MILLRACE_ASSIGN_OR_RETURN(const LiveFigures without, SimulateLive(plan, tried));
  const double max_margin = kMaxIntervals * options.interval;
  double best_margin = max_margin;
  double best_delay = without.mean_delay;
  double margin = 0;
  while (margin < max_margin) {
    const double now = margin;
    margin = margin * 1.5 + options.interval / 16;
    tried.gate_margin = now;
    MILLRACE_ASSIGN_OR_RETURN(const LiveFigures with, SimulateLive(plan, tried));
    if (with.dropped_share > without.dropped_share + kTolerance) continue;
    if (with.mean_delay >= best_delay) continue;
    best_delay = with.mean_delay;
    best_margin = now;
  }
  return best_margin;
}

}  // namespace millrace::pipeline
