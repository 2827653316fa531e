#include "service/frames/jpeg.h"

#include <turbojpeg.h>

#include <vector>

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

constexpr int kWidth = 48;
constexpr int kHeight = 32;

/// Red grows to the right, blue downwards.
std::vector<std::uint8_t> Shades() {
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      rgb.insert(rgb.end(),
                 {static_cast<std::uint8_t>(x * 5), 90, static_cast<std::uint8_t>(y * 7)});
    }
  }
  return rgb;
}

std::vector<std::uint8_t> Decode(const std::string& jpeg) {
  tjhandle decoder = tjInitDecompress();
  std::vector<std::uint8_t> rgb(kWidth * kHeight * 3);
  EXPECT_EQ(tjDecompress2(decoder, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size(),
                          rgb.data(), kWidth, /*pitch=*/0, kHeight, TJPF_RGB, 0),
            0);
  tjDestroy(decoder);
  return rgb;
}

TEST(JpegTest, DecodesToThePictureThatItWasMadeOf) {
  for (bool fine_colors : {false, true}) {
    const std::vector<std::uint8_t> rgb = Shades();
    const absl::StatusOr<std::string> jpeg =
        EncodeJpeg(rgb, kWidth, kHeight, {.quality = 95, .fine_colors = fine_colors});
    ASSERT_TRUE(jpeg.ok()) << jpeg.status();
    const std::vector<std::uint8_t> decoded = Decode(*jpeg);
    for (std::size_t i = 0; i < rgb.size(); ++i) ASSERT_NEAR(decoded[i], rgb[i], 16) << i;
  }
}

TEST(JpegTest, RefusesAPictureOfTheWrongSize) {
  const std::vector<std::uint8_t> rgb(10);
  EXPECT_EQ(EncodeJpeg(rgb, 4, 4, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millrace::service
