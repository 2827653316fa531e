// What the leader gives to the other ranks at the start, and when it changes: the plan, and how to
// learn.
//
// The plan itself travels. So no rank makes its own, and all run the same one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/learner/precision.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/wires/rank_group.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// A network of optical flow that every process can make.
struct FlowRankNetwork {
  /// One of FlowNetworkNames().
  std::string name = {};
  int channels = 1;
  bool occlusion = false;
  bool next_frame = false;
  Precision precision = Precision::kFloat32;
};

/// A network of labels. See LabelTaskOptions.
struct LabelRankNetwork {
  std::string name = {};
  int layers = 1;
  int width = 1;
  int outputs = 1;
  /// As SampleShape().
  std::vector<std::int64_t> sample_shape = {};
};

struct RankTask {
  /// The network; at most one of both. Without them, a replay's (replay_ranks.h).
  std::optional<FlowRankNetwork> flow = {};
  std::optional<LabelRankNetwork> labels = {};
  /// The bytes of the file of a user's own network. Empty: a built-in one.
  std::string network_file = {};
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
  /// See RankWires.
  int copy_every = 0;
  /// The ranks first measure the links between them (ProbeLink()).
  bool measures_links = false;
  /// The loss of a stage with its own one, by its name. Empty: no stage has one.
  std::string local_loss = {};
};

/// As text, without the network's file: JSON.
[[nodiscard]] std::string TextOf(const RankTask& task);

/// The task of TextOf(). Fails with DATA_LOSS if the text is damaged, or if its plans cannot run
/// (CheckPlan(), CheckRanks()).
[[nodiscard]] absl::StatusOr<RankTask> TaskOf(std::string_view text);

/// On the leader: sends `task` to all other ranks, with the network's file. Fails as
/// WireTransfer::Wait().
[[nodiscard]] absl::Status SendTask(RankGroup& group, const RankTask& task);
/// On the others: receives it. Fails as WireTransfer::Wait() and TaskOf().
[[nodiscard]] absl::StatusOr<RankTask> ReceiveTask(Wires& wires);
/// The tag of SendTask(), and of messages that follow it, with SendBytes().
inline constexpr int kTaskTag = 2;
/// The tag of ProbeLink().
inline constexpr int kProbeTag = 8;

/// The plans of one rank. Fails as PartOf().
[[nodiscard]] absl::StatusOr<Phases> PhasesOfRank(const RankTask& task, int rank);

}  // namespace millrace::pipeline
