#include "ingest/raw_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

std::string WhatIsWrong(const RawPicture& picture) {
  return std::string(CheckRawPicture(picture).message());
}

TEST(RawPictureTest, HasAsManyBytesAsItsSizeTakes) {
  const std::vector<std::uint8_t> bytes(100);
  const auto first = [&](std::size_t count) { return std::span(bytes).first(count); };
  EXPECT_EQ(WhatIsWrong({.width = 4, .height = 2, .bytes = first(24)}), "");
  EXPECT_EQ(WhatIsWrong({.format = PixelFormat::kGray, .width = 4, .height = 2, .bytes = first(8)}),
            "");
  EXPECT_EQ(WhatIsWrong({.width = 4, .height = 2, .stride = 16, .bytes = first(32)}), "");
  // The last row without its padding.
  EXPECT_EQ(WhatIsWrong({.width = 4, .height = 2, .stride = 16, .bytes = first(28)}), "");
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .bytes = first(23)}),
              HasSubstr("has 23 bytes; 4 x 2 pixels of 3 and a stride of 12 make 24"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .bytes = first(25)}), HasSubstr("has 25"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .stride = 11, .bytes = first(24)}),
              HasSubstr("the stride is 11 bytes, and a row of 4 pixels has 12"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .stride = -12, .bytes = first(24)}),
              HasSubstr("the stride is -12"));
  EXPECT_THAT(WhatIsWrong({.width = 0, .height = 2, .bytes = {}}),
              HasSubstr("0 x 2; it must have pixels"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = -2, .bytes = {}}),
              HasSubstr("it must have pixels"));
  EXPECT_THAT(WhatIsWrong({.width = 2'000'000'000, .height = 2'000'000'000, .bytes = {}}),
              HasSubstr("at most 16384 pixels wide"));
  EXPECT_THAT(WhatIsWrong({.width = 16'384, .height = 16'384, .bytes = {}}), HasSubstr("at most"));
}

/// A PNG's signature and header, and a mark of its end.
std::string Png(const std::string& size) {
  return "\x89PNG\r\n\x1a\n" + std::string("\0\0\0\rIHDR", 8) + size + "\x08\x02" + "IEND";
}

/// The segments that come before a JPEG's size, the size, and the end.
std::string Jpeg(const std::string& segments, const std::string& size) {
  return "\xff\xd8" + segments + std::string("\xff\xc2\0\x11\x08", 5) + size + "\x03\xff\xd9";
}

absl::StatusOr<ImageHeader> Read(const std::string& text) {
  return ReadImageHeader({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string WhyNot(const std::string& text) { return std::string(Read(text).status().message()); }

TEST(ImageHeaderTest, SaysFormatAndSize) {
  const auto png = Read(Png(std::string("\0\0\x03\x00\0\0\x02\x40", 8)));
  ASSERT_TRUE(png.ok()) << png.status();
  EXPECT_EQ(png->format, ImageFormat::kPng);
  EXPECT_EQ(png->width, 768);
  EXPECT_EQ(png->height, 576);
  // An application's segment, and tables, whose marker is among those that say sizes.
  const std::string segments = std::string("\xff\xe0\0\x04JF\xff\xff\xc4\0\x03T", 12);
  const auto jpeg = Read(Jpeg(segments, std::string("\x02\x40\x03\0", 4)));
  ASSERT_TRUE(jpeg.ok()) << jpeg.status();
  EXPECT_EQ(jpeg->format, ImageFormat::kJpeg);
  EXPECT_EQ(jpeg->width, 768);
  EXPECT_EQ(jpeg->height, 576);
}

TEST(ImageHeaderTest, RefusesWhatIsNoImageOrTooLargeOrCut) {
  EXPECT_EQ(WhyNot(""), "this is neither a JPEG nor a PNG image");
  EXPECT_EQ(WhyNot("GIF89a"), "this is neither a JPEG nor a PNG image");
  EXPECT_THAT(WhyNot(Png(std::string("\0\x01\0\0\0\0\0\x01", 8))), HasSubstr("at most 16384"));
  EXPECT_THAT(WhyNot(Png(std::string("\0\0\0\0\0\0\0\x01", 8))), HasSubstr("must have pixels"));
  EXPECT_THAT(WhyNot(Jpeg("", "\xff\xff\xff\xff")), HasSubstr("65535 x 65535"));
  EXPECT_THAT(WhyNot("\xff\xd8\xff\xda"), HasSubstr("does not say its size"));
  std::string cut = Png(std::string("\0\0\0\x10\0\0\0\x10", 8));
  cut.resize(cut.size() - 1);
  EXPECT_THAT(WhyNot(cut), HasSubstr("this PNG image is cut short"));
  std::string jpeg = Jpeg("", std::string("\0\x10\0\x10", 4));
  jpeg.pop_back();
  EXPECT_THAT(WhyNot(jpeg), HasSubstr("this JPEG image is cut short"));
}

// Whatever is cut off, nothing is read beyond the end: for the sanitizers to see.
TEST(ImageHeaderTest, ReadsNothingBeyondTheEnd) {
  const std::string png = Png(std::string("\0\0\0\x10\0\0\0\x10", 8));
  const std::string jpeg = Jpeg(std::string("\xff\xe0\xff\xff", 4), "\x01\x01\x01\x01");
  for (const std::string& whole : {png, jpeg}) {
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + bytes);
      EXPECT_FALSE(ReadImageHeader(cut).ok()) << bytes;
    }
  }
}

}  // namespace
}  // namespace millrace::ingest
