#include "service/frames/jpeg.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/service/frames/decode_jpeg.h"

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

TEST(JpegTest, DecodesToThePictureThatItWasMadeOf) {
  for (bool fine_colors : {false, true}) {
    const std::vector<std::uint8_t> rgb = Shades();
    const absl::StatusOr<std::string> jpeg =
        EncodeJpeg(rgb, kWidth, kHeight, {.quality = 95, .fine_colors = fine_colors});
    ASSERT_TRUE(jpeg.ok()) << jpeg.status();
    const std::vector<std::uint8_t> decoded = DecodeJpeg(*jpeg, kWidth, kHeight);
    for (std::size_t i = 0; i < rgb.size(); ++i) ASSERT_NEAR(decoded[i], rgb[i], 16) << i;
  }
}

TEST(JpegTest, RefusesAPictureOfTheWrongSize) {
  const std::vector<std::uint8_t> rgb(10);
  EXPECT_EQ(EncodeJpeg(rgb, 4, 4, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millrace::service
