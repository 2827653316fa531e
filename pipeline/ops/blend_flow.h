// Corrects a flow by a learned mixture of its neighbours.
//
// A mixture cannot be faster than the fastest of its neighbours, so a network that has learned
// little does little harm. It can move an edge of the motion to an edge of the picture, and fill
// what is hidden with the motion beside it. Related: kernel prediction (Bako et al., SIGGRAPH
// 2017), convex upsampling (Teed and Deng, "RAFT", ECCV 2020).
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// The distances, in pixels, at which a pixel's eight neighbours are mixed in.
inline constexpr std::array<std::int64_t, 2> kBlendDistances = {1, 3};
/// The pixel itself, then eight neighbours at each distance, rows first.
inline constexpr std::int64_t kBlendWeights = 1 + 8 * std::int64_t{kBlendDistances.size()};
/// For each pixel of a cell of 2x2: the weights, then a correction (dx, dy) in pixels.
inline constexpr std::int64_t kBlendChannels = kBlendWeights + 2;
inline constexpr std::int64_t kCellPixels = 4;

/// `flow`: [n, 2, height, width], both sides even. `choices`: [n, kCellPixels * kBlendChannels,
/// height / 2, width / 2]; channel kCellPixels c + p is number c of the cell's pixel p, rows first.
/// Returns, with these numbers of each pixel,
///
///   sum over k of softmax(choices)_k(x) flow(x + d_k) + correction(x)
///
/// Beyond the borders the flow is that of the nearest pixel. Differentiable by `choices` only,
/// once. Our own loops handle float32 on the CPU; other types and devices run the definition in
/// by_operators.h.
[[nodiscard]] at::Tensor BlendFlow(const at::Tensor& flow, const at::Tensor& choices);

}  // namespace millrace::pipeline
