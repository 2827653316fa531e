// The cost volume of optical flow, in one operator. It compares each pixel of a feature map with
// the neighbours of the place that the flow points to.
//
// Composed of LibTorch's operators it takes two dozen of them, and on maps this small a call costs
// more than its work.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

inline constexpr int kMatchRadius = 3;
inline constexpr int kMatchChannels = (2 * kMatchRadius + 1) * (2 * kMatchRadius + 1);
inline constexpr int kFlowChannels = 2;
/// The factor on each comparison. Without it, a decoder with random weights would hardly see the
/// comparison beside the features.
inline constexpr int kMatchGain = 4;

/// `features`: float32 [pictures, channels, height, width]. `flow`: [n, 2, height, width], one for
/// each of the n pairs, or undefined: no flow. Returns [n, kMatchChannels + channels (+ 2),
/// height, width], channels-last, with these channels in order:
///
///   the comparison: channel (dy + 3) 7 + dx + 3 of pixel (y, x) is kMatchGain times the cosine
///     between the features of (y, x) in one picture and of (y + dy, x + dx) in the other picture;
///     the other picture is warped by the flow, bilinear, zero beyond its borders
///   the features of the picture that the flow starts from
///   the flow
///
/// A match further out than half a picture beside the frame is clamped there, without gradient, so
/// a flow of any size is safe. Autograd can go backward from the result once. The number of
/// LibTorch's threads changes no value. A GPU runs our own kernels (match_cuda.h) or the definition
/// in by_operators.h.
[[nodiscard]] at::Tensor Match(const at::Tensor& features, const at::Tensor& flow,
                               PicturePairs pairs);

}  // namespace millrace::pipeline
