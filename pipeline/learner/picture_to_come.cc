#include "pipeline/learner/picture_to_come.h"

#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "pipeline/learner/bilinear.h"

namespace millrace::pipeline {
namespace {

constexpr int kColours = 3;

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
    const Between x = PlaceBetween(static_cast<float>(column) - (moves ? dx : 0), width);
    const Between y = PlaceBetween(static_cast<float>(row) - (moves ? dy : 0), height);
    for (int c = 0; c < kColours; ++c) {
      const float light = Bilinear(y, x, [&](int v, int u) { return colour(v, u, c); });
      made[i * kColours + c] = static_cast<std::uint8_t>(std::lround(light));
    }
  }
  return made;
}

}  // namespace millrace::pipeline
