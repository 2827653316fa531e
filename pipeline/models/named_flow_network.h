// The networks that can learn optical flow, by name.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/learner/flow_network_names.h"
#include "pipeline/nn/layer.h"
#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

struct NamedFlowNetworkOptions {
  std::string name = kUsualFlowNetwork;
  /// Seeds the random weights.
  std::uint64_t seed = 0;
  /// The pairs of pictures for which the flow is made.
  PicturePairs pairs = PicturePairs::kOne;
};

/// The network as a chain of layers. Reads float32 pictures [2 or 3, channels, height, width] in
/// 0..1, the oldest first. Makes the flow [1 or 2, 2, height, width] of each pair in pixels, (dx,
/// dy); zero until it learns. REQUIRES: the name is one of FlowNetworkNames().
[[nodiscard]] LayerChain MakeNamedFlowNetwork(const NamedFlowNetworkOptions& options);

}  // namespace millrace::pipeline
