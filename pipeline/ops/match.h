// Compares every pixel of a feature map with the neighbours of where a flow says it went: the cost
// volume of optical flow, with all that is around it, in one operator.
//
// Composed of LibTorch's own operators it is two dozen of them, each a pass over a map so small
// that the call costs more.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

inline constexpr int kMatchRadius = 3;
inline constexpr int kMatchChannels = (2 * kMatchRadius + 1) * (2 * kMatchRadius + 1);
inline constexpr int kFlowChannels = 2;
/// By how much a comparison is made larger: beside the features, a decoder that starts from random
/// weights would hardly see it.
inline constexpr int kMatchGain = 4;

/// `features`: float32 [pictures, channels, height, width]. `flow`: [n, 2, height, width], for each
/// of the n pairs, or undefined: none. Makes, with the channels of a pixel side by side,
/// [n, kMatchChannels + channels (+ 2), height, width]:
///
///   the comparison: channel (dy + 3) 7 + dx + 3 of pixel (y, x) is kMatchGain times the cosine
///     between the features of (y, x) in the one picture and those of (y + dy, x + dx) in the other
///     as seen through the flow, bilinear, zero beyond the picture
///   the features of the picture that the flow starts from
///   the flow
///
/// A match further out than half a picture beside the frame is held there, without gradient: a flow
/// of any size can be looked up. Autograd can go back from the result, once. Threads of LibTorch's
/// change no value. On a GPU it is made of kernels of ours (match_cuda.h), or composed of
/// LibTorch's operators (by_operators.h).
[[nodiscard]] at::Tensor Match(const at::Tensor& features, const at::Tensor& flow,
                               PicturePairs pairs);

}  // namespace millrace::pipeline
