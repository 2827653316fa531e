// Two pictures with exactly known motion between them.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

struct GeneratedPair {
  enum class Kind {
    kMotion,
    /// The previous picture again, as a stuck camera sends it: the flow is zero.
    kPause,
    /// The two pictures are of different scenes: the flow is meaningless, and no pixel is visible.
    kCut,
  };
  Kind kind = Kind::kMotion;
  /// [2, 1, height, width], previous then current: the bytes divided by 255.
  at::Tensor pictures;
  /// [1, 2, height, width], in pixels, indexed at the previous picture.
  at::Tensor flow;
  /// uint8 [1, 1, height, width]: 1 where the previous picture's pixel is in the current picture
  /// and not hidden, else 0.
  at::Tensor visible;
  /// The pictures in a camera's format: red, green, blue bytes, all equal, rows first.
  std::vector<std::uint8_t> previous_rgb;
  std::vector<std::uint8_t> current_rgb;
};

/// A pair of grey pictures, rows first, `width` pixels wide. Its flow is zero, and no pixel is
/// visible; for a pause, every pixel is.
[[nodiscard]] GeneratedPair PairOf(GeneratedPair::Kind kind,
                                   const std::vector<std::uint8_t>& previous,
                                   const std::vector<std::uint8_t>& current, int width);

}  // namespace millrace::pipeline
