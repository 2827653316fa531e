// The traffic of a network whose stages run on several hosts, and the costs that it adds to a plan.
//
//   host 1, stages 1 and 2 ── activations, copies of weights ──▶ host 0, stage 3
//                          ◀────── input, gradients ────────────
//
// Each host has one link to the network. It sends at the link's rate, and receives at that rate at
// the same time.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/layer_profile.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

/// Hosts are numbered as ranks (plan_part.h): host 0 leads.
struct HostPlacement {
  /// The host of each stage. CheckRanks() says what is allowed.
  std::vector<int> host_of_stage = {};
  /// The other hosts send a copy of each stage's weights to host 0 every n samples.
  int copy_every = 100;
  /// Numbers that the optimizer keeps for each weight. The copies have them, too.
  double kept_of_weights = 1;
};

/// A host's link to the network.
struct HostLink {
  /// In each direction.
  double bytes_per_s = 0;
  /// The time of a byte from one host to another one.
  double delay_ms = 0;

  /// The time for which the link carries these bytes, without a delay.
  [[nodiscard]] double MsFor(double bytes) const { return bytes / bytes_per_s * 1000; }
};

struct HostTransfer {
  enum class Kind { kInput, kActivations, kGradients, kWeights };
  Kind kind = Kind::kActivations;
  int from = 1;
  int to = 0;
  /// By sample that is learned from, on average.
  double bytes = 0;
};

/// "input", "activations" ...
[[nodiscard]] std::string_view Name(HostTransfer::Kind kind);

/// The skips of `network` that cross a whole stage, as the plan of a run has them.
[[nodiscard]] std::vector<StageSkip> SkipsOf(const NetworkProfile& network, const Cuts& cuts);

/// The transfers between hosts, one for each kind and pair. Bytes are those of tensors. The head of
/// a message takes at most 4 KiB more. Activations and gradients have the same size. REQUIRES:
/// `cuts` are of `network`, CheckRanks() is OK, and copy_every > 0.
[[nodiscard]] std::vector<HostTransfer> TransfersOf(const NetworkProfile& network, const Cuts& cuts,
                                                    const Plan& plan,
                                                    const HostPlacement& placement);

/// The bytes that a host sends and receives for a sample.
struct HostLoad {
  double sent_bytes = 0;
  double received_bytes = 0;
};

/// Of hosts 0 to `hosts` - 1.
[[nodiscard]] std::vector<HostLoad> LoadsOf(const std::vector<HostTransfer>& transfers, int hosts);

/// The time of a message over an idle link, which its receiver expects.
[[nodiscard]] double MessageMs(double bytes, const HostLink& link);

/// The time from the camera to the first stage; 0 if that stage is on host 0.
[[nodiscard]] double InputMs(const std::vector<HostTransfer>& transfers, const HostLink& link);

/// `costs` of the stages with `copy` between hosts: one message with all activations that a host
/// sends. Stages of one host pass tensors without a copy.
[[nodiscard]] std::vector<StageCost> CostsOverHosts(std::vector<StageCost> costs,
                                                    const HostPlacement& placement,
                                                    const std::vector<HostTransfer>& transfers,
                                                    const HostLink& link);

/// `plan` as the hosts run it together, for the simulator and steady_state.h. A device is on one
/// host. A channel between two hosts has its slots on both: its sender and its receiver each keep a
/// ring. REQUIRES: CheckRanks() is OK.
[[nodiscard]] Plan PlanOverHosts(const Plan& plan, std::span<const int> host_of_stage);

}  // namespace millrace::pipeline
