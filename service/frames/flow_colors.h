// Shows optical flow in the colours of the Middlebury wheel, which flow researchers know.
//
// The hue is the direction, the saturation the speed; white is no motion. Motion beyond the scale
// is darker.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::service {

struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  friend bool operator==(const Rgb&, const Rgb&) = default;
};

/// The colour of the motion (dx, dy), in units of the scale: length 1 has full saturation. Black if
/// a value is not finite.
[[nodiscard]] Rgb FlowColor(float dx, float dy);

/// Colours of `flow` = (dx, dy) pairs in pixels, as red, green, blue bytes. REQUIRES: scale > 0.
[[nodiscard]] std::vector<std::uint8_t> FlowColors(std::span<const float> flow, float scale);

/// A picture of the wheel, `size` by `size`. Each point has the colour of the motion from the
/// middle to it; the rim has full saturation. REQUIRES: size > 1.
[[nodiscard]] std::vector<std::uint8_t> FlowWheel(int size);

/// Chooses the scale. It follows the fast parts of the flow up at once and down slowly, in round
/// steps, so that colours stay comparable between pictures.
///
/// For one thread at a time.
class FlowScale {
 public:
  /// The scale for the next picture, in pixels: 1, 2, 3 or 5 times a power of ten, at least 0.5.
  float Next(std::span<const float> flow);

 private:
  float peak_ = 0;
};

/// The smallest of 0.5, 1, 2, 3, 5, 10, 20 ... that is at least `pixels`.
[[nodiscard]] float RoundScale(float pixels);

}  // namespace millrace::service
