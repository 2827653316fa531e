// The next picture, predicted from the newest one and from its expected motion. Free of LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

/// Moves `rgb` (red, green, blue bytes, rows first: height * width * 3) along `flow` ((dx, dy) for
/// every pixel, rows first). Pixel x of the result is the bilinear value at x - flow(x), or of the
/// border if that lies outside. A flow that is not finite moves nothing.
[[nodiscard]] std::vector<std::uint8_t> PictureToCome(std::span<const std::uint8_t> rgb,
                                                      std::span<const float> flow, int width,
                                                      int height);

}  // namespace millrace::pipeline
