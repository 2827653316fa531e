#include "service/wire/wire_picture.h"

#include <chrono>
#include <span>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::RawPicture Raw(v1::PixelFormat format) {
  v1::RawPicture message;
  message.set_format(format);
  message.set_width(2);
  message.set_height(1);
  message.set_stride(8);
  message.set_data("RGBrgb");
  return message;
}

TEST(WirePictureTest, PixelsAreBorrowedWithTheirShape) {
  const v1::RawPicture message = Raw(v1::PIXEL_FORMAT_RGB);
  const auto raw = ToRaw(message);
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(raw->format, ingest::PixelFormat::kRgb);
  EXPECT_EQ(raw->width, 2);
  EXPECT_EQ(raw->height, 1);
  EXPECT_EQ(raw->stride, 8);
  EXPECT_EQ(raw->bytes.size(), 6u);
  EXPECT_EQ(static_cast<const void*>(raw->bytes.data()), message.data().data());
  EXPECT_EQ(ToRaw(Raw(v1::PIXEL_FORMAT_GRAY8))->format, ingest::PixelFormat::kGray);
}

TEST(WirePictureTest, AFormatThatIsMissingOrUnknownIsRefused) {
  for (const int format : {0, 99}) {
    const absl::Status status = ToRaw(Raw(static_cast<v1::PixelFormat>(format))).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << format;
    EXPECT_THAT(std::string(status.message()), HasSubstr("it must be RGB or GRAY8"));
  }
}

TEST(WirePictureTest, AFrameIsPixelsOrAnImageAndNotNothing) {
  v1::PushedFrame frame;
  EXPECT_TRUE(absl::IsInvalidArgument(ToPushed(frame).status()));
  *frame.mutable_raw() = Raw(v1::PIXEL_FORMAT_UNSPECIFIED);
  EXPECT_TRUE(absl::IsInvalidArgument(ToPushed(frame).status()));
  *frame.mutable_raw() = Raw(v1::PIXEL_FORMAT_RGB);
  EXPECT_TRUE(std::holds_alternative<ingest::RawPicture>(ToPushed(frame)->content));
  frame.set_image("a JPEG");
  const auto pushed = ToPushed(frame);
  ASSERT_TRUE(pushed.ok()) << pushed.status();
  const auto image = std::get<std::span<const std::uint8_t>>(pushed->content);
  EXPECT_EQ(static_cast<const void*>(image.data()), frame.image().data());
  EXPECT_EQ(image.size(), 6u);
}

TEST(WirePictureTest, TheCaptureTimeMayBeAbsentButNotWrong) {
  v1::PushedFrame frame;
  frame.set_image("a JPEG");
  EXPECT_FALSE(ToPushed(frame)->taken.has_value());
  frame.mutable_capture_time()->set_seconds(9);
  EXPECT_EQ(ToPushed(frame)->taken, std::chrono::seconds(9));
  frame.mutable_capture_time()->set_nanos(-1);
  const absl::Status status = ToPushed(frame).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), StartsWith("capture_time must be a time"));
}

}  // namespace
}  // namespace millrace::service
