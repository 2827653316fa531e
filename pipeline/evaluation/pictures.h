// Pictures seen through a flow: what all that is said without the true motion rests on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

/// Grey values in 0..1, rows first: the luma of ITU-R BT.601, as the networks see it.
[[nodiscard]] std::vector<float> GreyOf(std::span<const std::uint8_t> rgb);

/// A pair of pictures of one size, ready to be looked up.
class PairOfPictures {
 public:
  /// REQUIRES: both have 3 * width * height bytes.
  PairOfPictures(std::span<const std::uint8_t> previous, std::span<const std::uint8_t> current,
                 int width, int height);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

  /// The photometric loss of `flow` ((dx, dy) for every pixel) on grey: the mean over pixels of
  /// sqrt(d^2 + 0.001^2), d = previous(x) - current(x + flow(x)), bilinear. A pixel whose match is
  /// out of the picture, or not finite, costs what no motion costs there. The same for whatever
  /// made the flow, so that all can be compared.
  [[nodiscard]] double Loss(std::span<const float> flow) const;
  [[nodiscard]] double LossOfNoMotion() const { return loss_no_motion_; }

  /// The greatest difference over the colours, in 0..1, between the previous picture at every pixel
  /// and the current one where `flow` points; looked up at the border where it points outside.
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

/// A flow made for pictures of one size, as one for another: bilinear, its vectors scaled alike.
[[nodiscard]] std::vector<float> ResizedFlow(std::span<const float> flow, int width, int height,
                                             int to_width, int to_height);

}  // namespace millrace::pipeline
