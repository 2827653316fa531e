// A network without a prior for optical flow from two grey pictures, coarse to fine.
//
//   previous, current ─▶ features 1/2 ─▶ 1/4 ─▶ 1/8 ─▶ 1/16
//                                         │      │       │
//                                         │      │       └▶ match 1/16 ─▶ decode 1/16 ─┐ flow
//                                         │      └────────▶ match 1/8  ─▶ decode 1/8  ─┤ flow
//                                         └───────────────▶ match 1/4  ─▶ decode 1/4 a, b ─▶ flow
//
// A match layer warps the current picture's features by the flow of the coarser level. It compares
// them with the previous picture's in a window of radius 3. A decode layer turns the comparison
// into a correction of that flow. Matching is built in, because plain convolutions barely learn it
// in the first minutes of a stream. Features are centered and comparisons enlarged: without that, a
// network with random weights sees no match for a thousand frames. No layer normalises over a
// batch, since a batch is one sample.
#pragma once

#include <array>
#include <cstdint>

#include "pipeline/nn/layer.h"
#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

struct CoarseToFineOptions {
  /// Seeds the random weights.
  std::uint64_t seed = 0;
  /// Channels of the features at 1/2, 1/4, 1/8 and 1/16 of the picture's size.
  std::array<int, 4> feature_channels = {16, 24, 32, 48};
  /// Channels of each decoder's hidden convolutions.
  std::array<int, 3> decoder_channels = {64, 48, 32};
  /// The pairs of pictures for which the flow is made; a second pair runs through the same weights.
  PicturePairs pairs = PicturePairs::kOne;
};

/// The network as a chain of eleven layers. Reads float32 pictures [2 or 3, 1, height, width] in
/// 0..1, the oldest first. Makes the flow [1 or 2, 2, height, width] of each pair, (dx, dy) in
/// pixels. Its indices are those of the pair's first picture: from(x) ~ to(x + flow(x)). The flow
/// is exactly zero until the network learns.
[[nodiscard]] LayerChain MakeCoarseToFineNetwork(const CoarseToFineOptions& options = {});

}  // namespace millrace::pipeline
