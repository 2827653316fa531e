// Pictures seen through a flow. All scores without the true motion are computed from them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/learner/flow_uncertainty.h"

namespace millrace::pipeline {

/// Grey values in 0..1, rows first: the luma of ITU-R BT.601, as the networks see it.
[[nodiscard]] std::vector<float> GreyOf(std::span<const std::uint8_t> rgb);

/// A pair of pictures of one size, prepared for sampling.
class PairOfPictures {
 public:
  /// REQUIRES: both have 3 * width * height bytes.
  PairOfPictures(std::span<const std::uint8_t> previous, std::span<const std::uint8_t> current,
                 int width, int height);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

  /// The photometric loss of `flow` ((dx, dy) for every pixel) on grey: the mean over pixels of
  /// sqrt(d^2 + 0.001^2), d = previous(x) - current(x + flow(x)), bilinear. A pixel whose match is
  /// outside the picture, or not finite, costs the same as no motion there. The loss does not
  /// depend on the method, so methods can be compared.
  [[nodiscard]] double Loss(std::span<const float> flow) const;
  [[nodiscard]] double LossOfNoMotion() const { return loss_no_motion_; }

  /// `flow` over these pictures; refers to both.
  [[nodiscard]] FlowOverPictures Under(std::span<const float> flow) const {
    return {.flow = flow,
            .base = previous_rgb_,
            .target = current_rgb_,
            .width = width_,
            .height = height_};
  }

  /// The largest difference over the colours, in 0..1, between the previous picture at every pixel
  /// and the current one where `flow` points. Points outside are sampled at the border.
  [[nodiscard]] std::vector<float> Differences(std::span<const float> flow) const;

 private:
  const int width_;
  const int height_;
  const std::span<const std::uint8_t> previous_rgb_;
  const std::span<const std::uint8_t> current_rgb_;
  const std::vector<float> previous_;
  const std::vector<float> current_;
  double loss_no_motion_ = 0;
};

/// Converts a flow from one size of pictures to another: bilinear, with its vectors scaled.
[[nodiscard]] std::vector<float> ResizedFlow(std::span<const float> flow, int width, int height,
                                             int to_width, int to_height);

}  // namespace millrace::pipeline
