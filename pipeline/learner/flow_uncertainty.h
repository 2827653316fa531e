// How wrong a flow may be at each pixel, without knowing the true motion. Free of LibTorch.
//
// Two things betray an error. Where neighbours move differently, an edge of the motion is near, and
// flows are worst at edges. And where the pictures still differ along the flow, the flow is off by
// about that difference over the picture's gradient, as in one step of Lucas and Kanade (IJCAI
// 1981). Both are in pixels, so their sum is. It needs no training, and fits every network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

/// A flow and the two pictures that it relates.
struct FlowOverPictures {
  /// (dx, dy) for every pixel, rows first: base(x) ~ target(x + flow(x)).
  std::span<const float> flow;
  /// Red, green, blue bytes, rows first.
  std::span<const std::uint8_t> base;
  std::span<const std::uint8_t> target;
  int width = 0;
  int height = 0;
  /// True: base(x) ~ target(x - flow(x)) instead.
  bool backward = false;
};

/// The expected end-point error of each pixel's flow, in pixels, rows first: height * width. It
/// orders pixels well; its mean is right within a factor of about two. Infinite where the flow is
/// not finite. Takes about five milliseconds at 352x256 on one
/// core.
///
/// REQUIRES: flow has 2 * width * height values, each picture 3 * width * height bytes.
[[nodiscard]] std::vector<float> FlowUncertainty(const FlowOverPictures& pictures);

/// How well `uncertainty` orders pixels by their `errors`: 0 as the errors themselves do, 1 as
/// chance does. The area between two sparsification curves, the mean error of what remains while
/// the most uncertain pixels are taken away (AUSE: Ilg et al., "Uncertainty estimates and multi-
/// hypotheses networks for optical flow", ECCV 2018), over that of a random order. 0 if all errors
/// are equal. REQUIRES: both have the same size, not 0, and finite errors.
[[nodiscard]] double RelativeAuse(std::span<const double> errors,
                                  std::span<const float> uncertainty);

}  // namespace millrace::pipeline
