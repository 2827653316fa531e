// The network that corrects a classical flow, its prior.
//
//   previous, current ─▶ prior ─▶ evidence 1/2 ─▶ encode 1/2 ─▶ encode 1/4 ─▶ encode 1/8
//                          │                         │             │              │
//                          │                         │             └▶ decode 1/4 ◀┘
//                          │                         └────────────▶ decode 1/2 ◀── decode 1/4
//                          └───────────────────────────────────────▶ blend ─▶ flow
//
// The prior (prior_flow.h) finds the motion; the network decides where to trust it. Its evidence is
// the previous picture, the difference to the current picture moved back by the prior, and the
// prior relative to its surroundings. Its output mixes each pixel's prior with its neighbours'
// (blend_flow.h). Before it learns, its flow is the prior.
#pragma once

#include <array>
#include <cstdint>

#include "pipeline/nn/layer.h"
#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

struct RefiningNetworkOptions {
  /// Seeds the random weights.
  std::uint64_t seed = 0;
  /// Channels of the features at 1/2, 1/4 and 1/8 of the picture's size.
  std::array<int, 3> channels = {16, 32, 48};
  /// The pairs of pictures for which the flow is made; a second pair runs through the same weights.
  PicturePairs pairs = PicturePairs::kOne;
};

/// The network as a chain of seven layers. Reads float32 pictures [2 or 3, 1, height, width] in
/// 0..1, the oldest first; both sides are multiples of 8. Makes the flow [1 or 2, 2, height, width]
/// of each pair, (dx, dy) in pixels, indexed at the pair's first picture. The first layer has no
/// parameters, runs on the CPU, and costs about as much as DIS.
[[nodiscard]] LayerChain MakeRefiningNetwork(const RefiningNetworkOptions& options = {});

}  // namespace millrace::pipeline
