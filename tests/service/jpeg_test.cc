#include "service/jpeg.h"

#include <vector>

#include <gtest/gtest.h>

#include "opencv2/core.hpp"
#include "opencv2/imgcodecs.hpp"

namespace millrace::service {
namespace {

TEST(JpegTest, DecodesToThePictureThatItWasMadeOf) {
  constexpr int kWidth = 48;
  constexpr int kHeight = 32;
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      rgb.insert(rgb.end(),
                 {static_cast<std::uint8_t>(x * 5), 90, static_cast<std::uint8_t>(y * 7)});
    }
  }
  const absl::StatusOr<std::string> jpeg = EncodeJpeg(rgb, kWidth, kHeight, /*quality=*/95);
  ASSERT_TRUE(jpeg.ok()) << jpeg.status();

  const std::vector<char> bytes(jpeg->begin(), jpeg->end());
  const cv::Mat bgr = cv::imdecode(bytes, cv::IMREAD_COLOR);
  ASSERT_EQ(bgr.cols, kWidth);
  ASSERT_EQ(bgr.rows, kHeight);
  const cv::Vec3b pixel = bgr.at<cv::Vec3b>(20, 40);
  EXPECT_NEAR(pixel[2], 40 * 5, 12) << "red";
  EXPECT_NEAR(pixel[1], 90, 12) << "green";
  EXPECT_NEAR(pixel[0], 20 * 7, 12) << "blue";
}

TEST(JpegTest, RefusesAPictureOfTheWrongSize) {
  const std::vector<std::uint8_t> rgb(10);
  EXPECT_EQ(EncodeJpeg(rgb, 4, 4, 90).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millrace::service
