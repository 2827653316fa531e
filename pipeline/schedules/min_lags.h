// The least staleness of plans that repeat with every sample.
#pragma once

#include <vector>

#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

/// The timings with which each stage goes backward as soon as its gradient has arrived and its
/// device has room. Its forwards are then ahead of its backwards by as few samples as `period`
/// allows: 1F1B*(T), with updates and copies that take time. Source: Beaumont, Eyraud-Dubois and
/// Shilova, "Pipelined model parallelism: complexity results and memory considerations",
/// Algorithm 1 and Theorem 3.
///
/// Counted from the start of F_i, the gradient of a sample arrives after
///
///   F_i + copy + (B_{i+1}'s end, counted from the start of F_{i+1}) + copy,
///
/// modulo the period, and at the last stage after F_D. If B, W and U do not fit behind it, B waits
/// for the next period. With split backwards W and U may instead come one period later, between F
/// and the next B. At full load no lag is shorter with split backwards.
///
/// `costs`: of stages 1 to D. A shorter `period` means MinPeriod(costs).
///
/// With kEachStageAGroup as `period`, stage i also has a lag of D - i at least, as in 1F1B.
[[nodiscard]] std::vector<StageTiming> MinLags(const std::vector<StageCost>& costs, double period,
                                               bool splits_backwards);

}  // namespace millrace::pipeline
