// What `millrace plan` is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/schedules/schedules.h"

namespace millrace::service {

/// As a schedule's name: the planner chooses one for the rate of the frames.
inline constexpr std::string_view kAutoSchedule = "auto";

/// A schedule for a network, and how to cut the network for it.
struct PlanRequest {
  std::string schedule = "one_f_one_b_star";
  /// 0: as many as there are stages, or 2.
  int devices = 0;
  /// The number of layers of each stage. Empty: the best cuts.
  std::vector<int> layers_of_stages = {};
  /// Between two samples. 0: as little as can be, but for auto, which needs it.
  double period_ms = 0;
  /// 0: the schedule's own choice.
  int micro_batches = 0;
  pipeline::Recompute recompute = pipeline::Recompute::kAlways;
  bool separate_backwards = false;
  std::int64_t switch_at = 1000;
  /// interleaved: the device of each stage. Empty: the fastest that can be found.
  std::vector<int> placement = {};
  /// auto: standard deviation of the logarithm of the costs. Nothing: as it was measured, or 0.1.
  std::optional<double> spread = {};
};

}  // namespace millrace::service
