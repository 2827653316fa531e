// The terms of optical-flow objectives. Pictures are [n, channels, height, width] in 0..1, flows
// [n, 2, height, width] in pixels, (dx, dy). All terms are differentiable.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

inline constexpr double kCharbonnierEpsilon = 1e-3;
inline constexpr double kEdgeSharpness = 10;
/// The minimum loss of no motion. It replaces the divisor where the two pictures are equal.
inline constexpr double kMinAtRest = 1e-3;

/// sqrt(d^2 + 0.001^2) of every difference: the generalised Charbonnier penalty with exponent 1/2.
[[nodiscard]] at::Tensor Charbonnier(const at::Tensor& difference);

/// [n, channels, height - 2, width - 2]: the distance, 0..1, between the neighbourhoods of a pixel
/// in two pictures. It is the soft ternary census transform of a 3x3 window. With d the difference
/// to a neighbour, in grey values 0..255, t = d / sqrt(0.81 + d^2). The distance between two t with
/// difference s is s^2 / (0.1 + s^2); the pixel's distance is the mean over its eight neighbours.
/// (Meister, Hur and Roth, "UnFlow", AAAI 2018; the mean as in ARFlow.)
[[nodiscard]] at::Tensor CensusDistance(const at::Tensor& a, const at::Tensor& b);

/// [n, channels, height - 2, width - 2]: (1 - SSIM) / 2 of 3x3 windows, clamped to 0..1. The source
/// is Wang et al., IEEE TIP 13(4), 2004, eq. 13, with C1 = 0.01^2 and C2 = 0.03^2.
[[nodiscard]] at::Tensor SsimDistance(const at::Tensor& a, const at::Tensor& b);

/// The mean, over neighbours along each dimension, of exp(-10 |step of the picture|) rho(step of
/// the flow). Here rho is Charbonnier(). The picture's step is the mean over its channels. A flow
/// may jump where the picture does.
[[nodiscard]] at::Tensor EdgeAwareRoughness(const at::Tensor& picture, const at::Tensor& flow);

/// Half the mean of |dF/dx|^2 + |dF/dy|^2, with derivatives on the 2x2 cube of Horn and Schunck,
/// zero beyond the picture. From Marullo, Tiezzi and Betti, "Continual unsupervised learning for
/// optical flow estimation with deep networks", CoLLAs 2022.
[[nodiscard]] at::Tensor QuadraticRoughness(const at::Tensor& flow);

/// The invariance term of the same paper: half the mean of (Ix u + Iy v + It)^2. Derivatives are on
/// the 2x2x2 cube (Horn and Schunck, "Determining optical flow", 1981, section 7), zero beyond the
/// picture.
[[nodiscard]] at::Tensor Invariance(const at::Tensor& previous, const at::Tensor& current,
                                    const at::Tensor& flow);

}  // namespace millrace::pipeline
