#include "ingest/frame/image_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

/// A PNG's signature, header and end, without valid checksums.
std::string Png(const std::string& size) {
  return "\x89PNG\r\n\x1a\n" + std::string("\0\0\0\rIHDR", 8) + size +
         std::string("\x08\x02\0\0\0CRC!\0\0\0\0IENDCRC!", 21);
}

/// A JPEG's coded data: a segment, and bytes among which 0xff is no marker.
const std::string kScan("\xff\xda\0\x03S\x01\xff\0\x02\xff\xd3\x03", 12);

/// The segments that come before a JPEG's size, the size, and the end.
std::string Jpeg(const std::string& segments, const std::string& size) {
  return "\xff\xd8" + segments + std::string("\xff\xc2\0\x08\x08", 5) + size + "\x03" + kScan +
         "\xff\xd9";
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
  // An application's segment, and tables, whose marker is among the markers of sizes.
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
  EXPECT_THAT(WhyNot("\xff\xd8\xff\xd9"), HasSubstr("does not say its size"));
  EXPECT_THAT(WhyNot(Jpeg(std::string("\xff\xfe\0\x02text", 8), std::string("\0\x10\0\x10", 4))),
              HasSubstr("between"));
  std::string cut = Png(std::string("\0\0\0\x10\0\0\0\x10", 8));
  cut.resize(cut.size() - 1);
  EXPECT_THAT(WhyNot(cut), HasSubstr("this PNG image is cut short"));
  std::string jpeg = Jpeg("", std::string("\0\x10\0\x10", 4));
  jpeg.pop_back();
  EXPECT_THAT(WhyNot(jpeg), HasSubstr("this JPEG image is cut short"));
}

// A decoder would go on with what is behind, and make room for it.
TEST(ImageHeaderTest, SaysWhereTheImageEnds) {
  const std::string png = Png(std::string("\0\0\0\x10\0\0\0\x10", 8));
  const std::string jpeg = Jpeg("", std::string("\0\x10\0\x10", 4));
  for (const std::string& image : {png, jpeg}) {
    const auto header = Read(image + Jpeg("", "\xff\xff\xff\xff") + png);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->bytes, image.size());
    EXPECT_EQ(header->width, 16);
  }
  // Two sizes in one image.
  const std::string other("\xff\xc0\0\x08\x08\xff\xff\xff\xff\x03", 10);
  std::string twice = jpeg;
  twice.insert(jpeg.size() - 2, other);
  EXPECT_THAT(WhyNot(twice), HasSubstr("says its size twice"));
}

// A decoder skips unknown segments, and takes the size from a later one.
TEST(ImageHeaderTest, OnlyTheFirstChunkOfAPngSaysItsSize) {
  const std::string small("\0\0\0\x10\0\0\0\x10", 8);
  const std::string large("\0\0\x2e\xe0\0\0\x2e\xe0", 8);
  const std::string header = Png(large).substr(8, 25);
  std::string hidden = Png(small);
  hidden.replace(12, 4, "aaAa");
  EXPECT_THAT(WhyNot(hidden), HasSubstr("does not begin with its header"));
  hidden.insert(8 + 25, header);
  EXPECT_THAT(WhyNot(hidden), HasSubstr("does not begin with its header"));
  std::string twice = Png(small);
  twice.insert(8 + 25, header);
  EXPECT_THAT(WhyNot(twice), HasSubstr("says its size twice"));
}

// A decoder goes on right behind a marker that has no segment: what looks like one's length would
// hide what it finds there.
TEST(ImageHeaderTest, NoMarkerOfAJpegHidesWhatIsBehind) {
  const std::string size("\0\x10\0\x10", 4);
  const std::string frame = Jpeg("", "\xff\xff\xff\xff");
  for (const int marker :
       {0x00, 0x01, 0x02, 0xbf, 0xc8, 0xd0, 0xd7, 0xd8, 0xde, 0xdf, 0xf0, 0xfd}) {
    const std::string hiding = std::string("\xff") + static_cast<char>(marker) + '\0' +
                               static_cast<char>(2 + frame.size()) + frame;
    EXPECT_THAT(WhyNot(Jpeg(hiding, size)), HasSubstr("a marker where none belongs")) << marker;
  }
  EXPECT_THAT(WhyNot(Jpeg(std::string("\xff\xfe\0\x01", 4), size)), HasSubstr("without a length"));
}

// What stands in a segment is none of its own: a camera's thumbnail, say.
TEST(ImageHeaderTest, LooksIntoNoSegment) {
  const std::string thumbnail = Jpeg("", "\xff\xff\xff\xff");
  const std::string segment =
      std::string("\xff\xe1\0", 3) + static_cast<char>(2 + thumbnail.size()) + thumbnail;
  const auto header = Read(Jpeg(segment, std::string("\0\x10\0\x10", 4)));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->width, 16);
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
