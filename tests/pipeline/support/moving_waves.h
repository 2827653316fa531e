// A small picture that moves, as the input of tests of whole learners.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace millrace::pipeline {

/// Of both sides: the least that the flow network takes.
inline constexpr int kWavesSide = 64;

/// A picture of soft stripes that have moved by `shift` pixels.
inline std::vector<std::uint8_t> Waves(double shift) {
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < kWavesSide; ++y) {
    for (int x = 0; x < kWavesSide; ++x) {
      const double wave = std::sin((x - shift) / 3) + std::sin((y + x) / 5.0);
      rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(128 + 55 * wave));
    }
  }
  return rgb;
}

}  // namespace millrace::pipeline
