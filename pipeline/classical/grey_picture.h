// A picture as OpenCV's methods of optical flow read it.
#pragma once

#include <cstdint>
#include <span>

#include <opencv2/core.hpp>

namespace millrace::pipeline {

/// Grey bytes of `rgb`: red, green, blue bytes, rows first. REQUIRES: 3 * width * height bytes.
[[nodiscard]] cv::Mat GreyPicture(std::span<const std::uint8_t> rgb, int width, int height);

}  // namespace millrace::pipeline
