// The request that `millrace plan` answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/planner/host_traffic.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::service {

/// The name of the automatic choice: the planner chooses a schedule for the frames' rate.
inline constexpr std::string_view kAutoSchedule = "auto";

/// A schedule for a network, and how to cut the network.
struct PlanRequest {
  std::string schedule = "one_f_one_b_star";
  /// 0: one per stage, or 2.
  int devices = 0;
  /// The number of layers of each stage. Empty: the best cuts.
  std::vector<int> layers_of_stages = {};
  /// Time between two samples. 0: as short as possible; auto needs a value.
  double period_ms = 0;
  /// 0: the schedule's own choice.
  int micro_batches = 0;
  pipeline::Recompute recompute = pipeline::Recompute::kAlways;
  bool separate_backwards = false;
  std::int64_t switch_at = 1000;
  /// For interleaved: the device of each stage. Empty: the fastest placement found.
  std::vector<int> placement = {};
  /// For auto: standard deviation of the logarithm of the costs. Nullopt: as measured, or 0.1.
  std::optional<double> spread = {};
  /// Stages on several hosts. No host of a stage: all are on one.
  pipeline::HostPlacement hosts = {};
  /// The link of each host. Nullopt: transfers take no time.
  std::optional<pipeline::HostLink> link = {};

  [[nodiscard]] bool names_hosts() const { return !hosts.host_of_stage.empty(); }
};

}  // namespace millrace::service
