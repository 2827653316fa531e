// How a flow moves: what policies and guards judge it by.
#pragma once

#include <span>

namespace millrace::pipeline {

/// Means over the pixels of a flow.
struct FlowMotion {
  /// The mean flow, in pixels.
  double mean_x = 0;
  double mean_y = 0;
  /// The mean length, in pixels.
  double length = 0;
  /// The share of pixels that move by more than asked about.
  double moving_share = 0;
  /// The share of pixels whose match lies outside the picture.
  double leaving_share = 0;
};

/// Of `flow`: (dx, dy) in pixels for every pixel, rows first, height * width * 2. A flow that is
/// not finite has means that are not. REQUIRES: width and height are positive, and of that size.
[[nodiscard]] FlowMotion MotionOf(std::span<const float> flow, int width, int height,
                                  double moving_pixels);

}  // namespace millrace::pipeline
