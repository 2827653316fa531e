#include "ingest/pictures/picture_maker.h"

#include <gmock/gmock.h>
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "ingest/gst/gstreamer.h"
#include "ingest/inputs/open_source.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint8_t> BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A picture with a motif, as `encoder` writes it.
std::vector<std::uint8_t> Image(const std::string& encoder,
                                const std::string& size = "width=160,height=120") {
  const TemporaryFolder folder;
  RunPipeline("videotestsrc num-buffers=1 pattern=smpte100 ! video/x-raw,format=RGB," + size +
              " ! " + encoder + " ! filesink location=" + (folder / "image"));
  return BytesOf(folder / "image");
}

/// The same without an encoder: rows of 480 bytes have no padding.
Picture Motif() { return {.width = 160, .height = 120, .rgb = Image("identity")}; }

RawPicture Raw(const Picture& picture) {
  return {.width = picture.width, .height = picture.height, .bytes = picture.rgb};
}

TEST(PictureMakerTest, TakesPixelsOfItsOwnSizeAsTheyAre) {
  const Picture picture = TestPictures("pattern=ball", 1, 101, 77).front();
  const auto made = PictureMaker(101, 77).FromPixels(Raw(picture));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->picture->rgb, picture.rgb);
  EXPECT_EQ(made->own_width, 101);
}

TEST(PictureMakerTest, LeavesPaddingOut) {
  const Picture picture = TestPictures("pattern=ball", 1, 101, 77).front();
  std::vector<std::uint8_t> padded;
  for (std::size_t row = 0; row < 77; ++row) {
    const auto begin = picture.rgb.begin() + static_cast<std::ptrdiff_t>(row * 303);
    padded.insert(padded.end(), begin, begin + 303);
    padded.insert(padded.end(), 17, 0xee);
  }
  const auto made = PictureMaker(101, 77).FromPixels(
      {.width = 101, .height = 77, .stride = 320, .bytes = padded});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->picture->rgb, picture.rgb);
}

TEST(PictureMakerTest, MakesGreyThreeTimesTheSame) {
  const std::vector<std::uint8_t> grey = {0, 100, 255, 7};
  const auto made = PictureMaker(2, 2).FromPixels(
      {.format = PixelFormat::kGray, .width = 2, .height = 2, .bytes = grey});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->picture->rgb,
            (std::vector<std::uint8_t>{0, 0, 0, 100, 100, 100, 255, 255, 255, 7, 7, 7}));
}

// Odd sizes, both ways. The oracle is what a camera's pictures of that size go through.
TEST(PictureMakerTest, ScalesAsACamerasPicturesAre) {
  const Picture picture = Motif();
  const std::vector<std::uint8_t> image = Image("pngenc");
  for (const auto& [width, height] : {std::pair(101, 77), std::pair(320, 240), std::pair(40, 30)}) {
    const auto made = PictureMaker(width, height).FromPixels(Raw(picture));
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->picture->width, width);
    EXPECT_EQ(made->own_width, 160);
    const auto decoded = PictureMaker(width, height).FromImage(image);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_LT(Difference(*made->picture, *decoded->picture), 0.5) << width << " x " << height;
  }
}

int OwnNiceness() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

// Whatever the priority of the thread that has the first image decoded: cameras come later.
TEST(PictureMakerTest, GStreamersThreadsRunAtThePriorityOfWhoInitializesIt) {
  const int ordinary = OwnNiceness();
  InitializeGStreamer();
  int of_the_pool = 19;
  std::jthread([&] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19), 0);
    GThreadPool* const pool = g_thread_pool_new(
        [](gpointer result, gpointer /*user_data*/) {
          *static_cast<int*>(result) = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
        },
        nullptr, 1, FALSE, nullptr);
    g_thread_pool_push(pool, &of_the_pool, nullptr);
    g_thread_pool_free(pool, FALSE, TRUE);
  }).join();
  EXPECT_EQ(of_the_pool, ordinary);
}

TEST(PictureMakerTest, DecodesImages) {
  const Picture picture = Motif();
  const PictureMaker maker(160, 120);
  for (const char* encoder : {"pngenc", "jpegenc quality=95"}) {
    const auto made = maker.FromImage(Image(encoder));
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_LT(Difference(*made->picture, picture), 4) << encoder;
    EXPECT_EQ(made->own_height, 120);
  }
  EXPECT_EQ(maker.FromImage(Image("pngenc"))->picture->rgb, picture.rgb);
}

std::string WhyNot(const std::vector<std::uint8_t>& image) {
  const absl::Status status = PictureMaker(16, 16).FromImage(image).status();
  EXPECT_EQ(status.ok() ? absl::StatusCode::kInvalidArgument : status.code(),
            absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(PictureMakerTest, SaysWhatIsWrongWithAnImage) {
  for (const char* encoder : {"pngenc", "jpegenc"}) {
    const std::vector<std::uint8_t> image = Image(encoder, "width=16,height=16");
    for (std::size_t bytes = 10; bytes <= image.size() / 2; ++bytes) {
      const auto cut = image.begin() + static_cast<std::ptrdiff_t>(bytes);
      EXPECT_THAT(WhyNot({image.begin(), cut}), HasSubstr("this image cannot be decoded: "));
    }
    EXPECT_THAT(WhyNot(Image(encoder, "width=16385,height=2")), HasSubstr("at most 16384"));
  }
  EXPECT_EQ(WhyNot({}), "this is neither a JPEG nor a PNG image");
  EXPECT_EQ(WhyNot({'G', 'I', 'F', '8', '9', 'a'}), "this is neither a JPEG nor a PNG image");
}

// Neither what lies behind an image nor a camera's thumbnail within it says its size.
TEST(PictureMakerTest, TakesTheSizeOfTheImageItself) {
  const PictureMaker maker(16, 16);
  const std::vector<std::uint8_t> other = Image("jpegenc", "width=32,height=32");
  for (const char* encoder : {"pngenc", "jpegenc"}) {
    std::vector<std::uint8_t> image = Image(encoder);
    image.insert(image.end(), other.begin(), other.end());
    const auto made = maker.FromImage(image);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->own_width, 160);
  }
  std::vector<std::uint8_t> segment = {0xff, 0xe1};
  segment.push_back(static_cast<std::uint8_t>((other.size() + 2) >> 8));
  segment.push_back(static_cast<std::uint8_t>(other.size() + 2));
  segment.insert(segment.end(), other.begin(), other.end());
  std::vector<std::uint8_t> image = Image("jpegenc");
  image.insert(image.begin() + 2, segment.begin(), segment.end());
  const auto made = maker.FromImage(image);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->own_width, 160);
}

// The memory is for the first size.
TEST(PictureMakerTest, RefusesAnImageOfTwoSizes) {
  std::vector<std::uint8_t> png = Image("pngenc");
  const std::vector<std::uint8_t> header(png.begin() + 8, png.begin() + 33);
  png.insert(png.begin() + 33, header.begin(), header.end());
  EXPECT_THAT(WhyNot(png), HasSubstr("cannot be decoded"));
  std::vector<std::uint8_t> jpeg = Image("jpegenc");
  const std::uint8_t marker[] = {0xff, 0xc0, 0, 17};
  const auto size = std::search(jpeg.begin(), jpeg.end(), std::begin(marker), std::end(marker));
  ASSERT_NE(size, jpeg.end());
  const std::vector<std::uint8_t> again(size, size + 19);
  jpeg.insert(jpeg.end() - 2, again.begin(), again.end());
  EXPECT_THAT(WhyNot(jpeg), HasSubstr("cannot be decoded"));
}

/// A JPEG without the second half of its coded data, but with its end marker.
std::vector<std::uint8_t> HalfAJpeg() {
  std::vector<std::uint8_t> image = Image("jpegenc");
  const auto half = image.begin() + static_cast<std::ptrdiff_t>(image.size() / 2);
  image.erase(half, image.end() - 2);
  return image;
}

// GStreamer's decoder filled it with grey.
TEST(PictureMakerTest, SaysThatHalfOfAJpegIsMissing) {
  testing::internal::CaptureStderr();
  const std::string damaged = WhyNot(HalfAJpeg());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(damaged, HasSubstr("this image cannot be decoded: Corrupt"));
}

// As some cameras write them. The picture is whole.
TEST(PictureMakerTest, TakesAJpegWithAFewBytesTooMany) {
  std::vector<std::uint8_t> image = Image("jpegenc quality=95");
  image.insert(image.end() - 2, 20, 0x55);
  const auto made = PictureMaker(160, 120).FromImage(image);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_LT(Difference(*made->picture, Motif()), 4);
}

// Transparent and grey ones, and those of 16 bits, are pictures, too.
TEST(PictureMakerTest, DecodesEveryKindOfPng) {
  const Picture picture = Motif();
  for (const std::string format : {"RGBA", "GRAY8", "GRAY16_BE"}) {
    const auto made = PictureMaker(160, 120).FromImage(
        Image("videoconvert ! video/x-raw,format=" + format + " ! pngenc"));
    ASSERT_TRUE(made.ok()) << made.status();
    if (format == "RGBA") {
      EXPECT_EQ(made->picture->rgb, picture.rgb);
    } else {
      EXPECT_EQ(made->picture->rgb[0], made->picture->rgb[1]) << format;
    }
  }
}

// Its middle is gone, its end is there.
TEST(PictureMakerTest, SaysThatAPngIsDamaged) {
  std::vector<std::uint8_t> image = Image("pngenc");
  const auto half = static_cast<std::ptrdiff_t>(image.size() / 2);
  std::fill(image.begin() + half / 2, image.end() - 20, 0);
  testing::internal::CaptureStderr();
  const std::string damaged = WhyNot(image);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "libpng's words are in the message";
  EXPECT_THAT(damaged, HasSubstr("cannot be decoded"));
}

}  // namespace
}  // namespace millrace::ingest
