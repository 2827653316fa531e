// The motion of a flow, for policies and guards.
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
  /// The share of pixels that move by more than `moving_pixels`.
  double moving_share = 0;
  /// The share of pixels whose match lies outside the picture.
  double leaving_share = 0;
};

/// The motion of `flow`: (dx, dy) in pixels for every pixel, rows first, height * width * 2. If the
/// flow is not finite, its means are not finite. REQUIRES: width and height are positive and match
/// `flow`.
[[nodiscard]] FlowMotion MotionOf(std::span<const float> flow, int width, int height,
                                  double moving_pixels);

}  // namespace millrace::pipeline
