// Reads a JPEG back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <turbojpeg.h>

namespace millrace::service {

/// Red, green, blue bytes. Expects that it has this size.
inline std::vector<std::uint8_t> DecodeJpeg(const std::string& jpeg, int width, int height) {
  tjhandle decoder = tjInitDecompress();
  std::vector<std::uint8_t> rgb(static_cast<std::size_t>(width) * height * 3);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(jpeg.data());
  int is_width = 0;
  int is_height = 0;
  int sampling = 0;
  int colours = 0;
  tjDecompressHeader3(decoder, bytes, jpeg.size(), &is_width, &is_height, &sampling, &colours);
  EXPECT_EQ(is_width, width);
  EXPECT_EQ(is_height, height);
  EXPECT_EQ(tjDecompress2(decoder, bytes, jpeg.size(), rgb.data(), width, /*pitch=*/0, height,
                          TJPF_RGB, 0),
            0);
  tjDestroy(decoder);
  return rgb;
}

}  // namespace millrace::service
