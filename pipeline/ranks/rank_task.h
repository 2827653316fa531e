// What the leader gives to the other ranks at the start: the plan, and how to learn.
//
// The plan itself travels. So no rank makes its own, and all run the same one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

struct RankTask {
  /// Of the whole network, not of a part.
  Phases phases = {};
  /// By stage (CheckRanks()).
  std::vector<int> rank_of_stage = {};
  Cuts cuts = {};
  OptimizerOptions optimizer = {};
  std::vector<double> stage_rates = {};
  /// See StagedNetwork::Options.
  std::uint64_t seed = 0;
  int threads_per_stage = 1;
  /// The loss of a stage with its own one, by its name. Empty: no stage has one.
  std::string local_loss = {};
};

/// As text: JSON.
[[nodiscard]] std::string TextOf(const RankTask& task);

/// The task of TextOf(). Fails with DATA_LOSS if the text is damaged, or if its plans cannot run
/// (CheckPlan(), CheckRanks()).
[[nodiscard]] absl::StatusOr<RankTask> TaskOf(std::string_view text);

}  // namespace millrace::pipeline
