// What the channels of a plan carry: tensors on their way between two stages.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "pipeline/engine/slot_ring.h"
#include "pipeline/nn/layer.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// What a channel carries of one sample, one tensor a wire.
struct ChannelTensors {
  Tensors tensors;
  /// They come in the same memory whenever the sample's lane does (captured_stage.h).
  bool lasting = false;
};

/// The gradients of what a channel carried for one sample.
struct ChannelGradients {
  ChannelTensors of = {};
  /// False: one of them was not finite, or none was made. Nothing learns from them.
  bool real = false;
};

/// The two rings of a channel. Ordered by the plan, not synchronized otherwise.
struct ChannelRings {
  ChannelRings(const Plan& plan, const Channel& c)
      : channel(c),
        carries_gradients(plan.CarriesGradients(c)),
        forward(c.slots),
        backward(c.gradient_slots) {}

  const Channel channel;
  const bool carries_gradients;
  /// Tensors that it carries for each sample.
  int wires = 0;
  /// By sample.
  SlotRing<ChannelTensors> forward;
  /// By the sample's position in the order of backwards of the stage that writes them.
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

  /// nullptr if the plan has none.
  [[nodiscard]] ChannelRings* Find(int from, int to) const {
    const auto found = std::find_if(rings_.begin(), rings_.end(), [&](const auto& rings) {
      return rings->channel.from == from && rings->channel.to == to;
    });
    return found == rings_.end() ? nullptr : found->get();
  }
  /// REQUIRES: the plan has one.
  [[nodiscard]] ChannelRings& Between(int from, int to) const {
    ChannelRings* rings = Find(from, to);
    MILLRACE_CHECK(rings != nullptr);
    return *rings;
  }

 private:
  std::vector<std::unique_ptr<ChannelRings>> rings_;
};

}  // namespace millrace::pipeline
