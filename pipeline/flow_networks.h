// The networks that can learn optical flow, by name.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/layer.h"
#include "pipeline/learning/flow_network_names.h"

namespace millrace::pipeline {

struct NamedFlowNetworkOptions {
  std::string name = "flow";
  /// Seeds the random weights.
  std::uint64_t seed = 0;
  /// The flow back, from the current picture to the previous one, is made as well.
  bool both_ways = false;
};

/// The network, as a chain of layers. Reads float32 pictures [2, channels, height, width] in 0..1,
/// previous then current; makes the flow [1, 2, height, width] in pixels, (dx, dy), from the
/// previous to the current, both ways [2, 2, height, width]. Zero until it learns. REQUIRES: the
/// name is one of FlowNetworkNames().
[[nodiscard]] LayerChain MakeNamedFlowNetwork(const NamedFlowNetworkOptions& options);

}  // namespace millrace::pipeline
