// The rings of a plan's channels, with the tensors that pass between two stages.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "pipeline/engine/slot_ring.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/stage.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {

/// A channel's tensors of one sample, one per wire.
struct ChannelTensors {
  Tensors tensors;
  /// Whether the tensors have the same memory for every sample of a slot (graphed_stage.h).
  bool stable_address = false;
};

/// The gradients of a channel's tensors of one sample.
struct ChannelGradients {
  ChannelTensors of = {};
  /// Whether the gradients are valid. If false, one was not finite or is missing; no stage
  /// learns from them.
  bool valid = false;
};

/// The two rings of a channel. The plan orders the accesses; there is no other synchronization.
struct ChannelRings {
  ChannelRings(const Plan& plan, const Channel& c)
      : channel(c),
        carries_gradients(plan.CarriesGradients(c)),
        forward(c.slots),
        backward(c.gradient_slots) {}

  const Channel channel;
  const bool carries_gradients;
  /// The number of tensors per sample.
  int wires = 0;
  /// Indexed by sample.
  SlotRing<ChannelTensors> forward;
  /// Indexed by the sample's position in the writing stage's order of backwards.
  SlotRing<ChannelGradients> backward;
};

/// The channels of a plan, in its order.
class Channels {
 public:
  explicit Channels(const Plan& plan) {
    for (const Channel& channel : plan.channels) {
      rings_.push_back(std::make_unique<ChannelRings>(plan, channel));
    }
  }

  [[nodiscard]] const std::vector<std::unique_ptr<ChannelRings>>& all() const { return rings_; }

  /// Counts a tensor of each sample for each of `wires`, between the stages of `cuts`.
  void Count(const std::vector<Wire>& wires, const Cuts& cuts) const {
    for (const Wire& wire : wires) {
      ++Between(StageOfLayer(cuts, wire.from), StageOfLayer(cuts, wire.to)).wires;
    }
  }

  /// nullptr if the plan has no such channel.
  [[nodiscard]] ChannelRings* Find(int from, int to) const {
    const auto found = std::find_if(rings_.begin(), rings_.end(), [&](const auto& rings) {
      return rings->channel.from == from && rings->channel.to == to;
    });
    return found == rings_.end() ? nullptr : found->get();
  }
  /// REQUIRES: the plan has such a channel.
  [[nodiscard]] ChannelRings& Between(int from, int to) const {
    ChannelRings* rings = Find(from, to);
    MILLRACE_CHECK(rings != nullptr);
    return *rings;
  }

 private:
  std::vector<std::unique_ptr<ChannelRings>> rings_;
};

}  // namespace millrace::pipeline
