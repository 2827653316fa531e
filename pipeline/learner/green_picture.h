// A picture's green, which has most of its light, at pixels and between them. Free of LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pipeline/learner/bilinear.h"

namespace millrace::pipeline {

/// Refers to the picture. The values are the levels of its bytes.
class GreenPicture {
 public:
  /// `rgb`: red, green, blue bytes, rows first. REQUIRES: 3 * width * height bytes.
  GreenPicture(std::span<const std::uint8_t> rgb, int width, int height)
      : rgb_(rgb), width_(width), height_(height) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

  /// REQUIRES: (x, y) is in the picture.
  [[nodiscard]] float At(int x, int y) const {
    return rgb_[(static_cast<std::size_t>(y) * width_ + x) * 3 + 1];
  }
  /// Bilinear. A position outside has the value of the border.
  [[nodiscard]] float Between(float x, float y) const {
    return Bilinear(PlaceBetween(y, height_), PlaceBetween(x, width_),
                    [this](int row, int column) { return At(column, row); });
  }

 private:
  std::span<const std::uint8_t> rgb_;
  int width_;
  int height_;
};

}  // namespace millrace::pipeline
