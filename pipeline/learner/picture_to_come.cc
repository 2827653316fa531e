#include "pipeline/learner/picture_to_come.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

constexpr int kColours = 3;

// A position between two neighbouring rows or columns. `share` is the weight of the second.
struct Between {
  int first = 0;
  int second = 0;
  float share = 0;
};

Between At(float place, int size) {
  const float held = std::clamp(place, 0.0F, static_cast<float>(size - 1));
  const int first = static_cast<int>(held);
  return {first, std::min(first + 1, size - 1), held - static_cast<float>(first)};
}

float Mixed(float a, float b, float share) { return a + (b - a) * share; }

}  // namespace

std::vector<std::uint8_t> PictureToCome(std::span<const std::uint8_t> rgb,
                                        std::span<const float> flow, int width, int height) {
  const std::size_t pixels = static_cast<std::size_t>(width) * height;
  MILLRACE_CHECK(rgb.size() == kColours * pixels && flow.size() == 2 * pixels);
  std::vector<std::uint8_t> made(rgb.size());
  const auto colour = [&](int y, int x, int c) -> float {
    return rgb[(static_cast<std::size_t>(y) * width + x) * kColours + c];
  };
  for (std::size_t i = 0; i < pixels; ++i) {
    const float dx = flow[2 * i];
    const float dy = flow[2 * i + 1];
    const bool moves = std::isfinite(dx) && std::isfinite(dy);
    const std::size_t column = i % width;
    const std::size_t row = i / width;
    const Between x = At(static_cast<float>(column) - (moves ? dx : 0), width);
    const Between y = At(static_cast<float>(row) - (moves ? dy : 0), height);
    for (int c = 0; c < kColours; ++c) {
      const float above = Mixed(colour(y.first, x.first, c), colour(y.first, x.second, c), x.share);
      const float below =
          Mixed(colour(y.second, x.first, c), colour(y.second, x.second, c), x.share);
      made[i * kColours + c] = static_cast<std::uint8_t>(std::lround(Mixed(above, below, y.share)));
    }
  }
  return made;
}

}  // namespace millrace::pipeline
