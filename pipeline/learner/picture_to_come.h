// The picture to come, made of the newest one and of the motion that is expected to go on. Free of
// LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

/// What `rgb` (red, green, blue bytes, rows first: height * width * 3) becomes when everything goes
/// on as `flow` ((dx, dy) for every pixel, rows first) says of it: pixel x of the result is what
/// lies at x - flow(x), bilinear, the picture's border where that is outside. A flow that is not
/// finite moves nothing.
[[nodiscard]] std::vector<std::uint8_t> PictureToCome(std::span<const std::uint8_t> rgb,
                                                      std::span<const float> flow, int width,
                                                      int height);

}  // namespace millrace::pipeline
