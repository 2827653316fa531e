#include "service/commands/evaluate/video_clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ingest/support/media.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<pipeline::ClipPair> ReadAll(const pipeline::ClipSource& source) {
  auto clip = source.open();
  EXPECT_TRUE(clip.ok()) << clip.status();
  std::vector<pipeline::ClipPair> pairs;
  for (;;) {
    auto pair = (*clip)->Next();
    EXPECT_TRUE(pair.ok()) << pair.status();
    if (!pair.ok() || !pair->has_value()) return pairs;
    pairs.push_back(**std::move(pair));
  }
}

class VideoClipTest : public ::testing::Test {
 protected:
  VideoClipTest() { ingest::WriteMovie(path_, /*frames=*/20, /*frames_per_second=*/10); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "movie.mp4";
};

TEST_F(VideoClipTest, ItHasAPairForEachTwoNeighbouringPictures) {
  const auto source = VideoClip(path_, 64, 48);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->name, "movie.mp4");
  EXPECT_EQ(source->width, 64);
  EXPECT_EQ(source->height, 48);
  const std::vector<pipeline::ClipPair> pairs = ReadAll(*source);
  ASSERT_EQ(pairs.size(), 19u);
  for (int i = 0; i < 19; ++i) {
    EXPECT_EQ(pairs[i].number, i);
    EXPECT_EQ(pairs[i].stream_time, std::chrono::milliseconds(100) * (i + 1));
    EXPECT_EQ(pairs[i].current->size(), std::size_t{3} * 64 * 48);
    EXPECT_EQ(pairs[i].truth, nullptr);
    if (i > 0) {
      EXPECT_EQ(*pairs[i].previous, *pairs[i - 1].current);
    }
  }
}

TEST_F(VideoClipTest, PicturesAreThoseOfTheSlowPath) {
  const auto source = VideoClip(path_, 160, 120);
  ASSERT_TRUE(source.ok()) << source.status();
  const std::vector<pipeline::ClipPair> pairs = ReadAll(*source);
  for (const int number : {0, 7, 18}) {
    const ingest::Picture slow = ingest::SlowlyDecoded(path_, number, 160, 120);
    ingest::Picture seen = slow;
    seen.rgb = *pairs.at(number).previous;
    EXPECT_LT(ingest::Difference(seen, slow), 2) << number;
  }
}

TEST_F(VideoClipTest, ItIsTheSameEachTimeItIsOpened) {
  const auto source = VideoClip(path_, 64, 48);
  ASSERT_TRUE(source.ok()) << source.status();
  const std::vector<pipeline::ClipPair> once = ReadAll(*source);
  const std::vector<pipeline::ClipPair> again = ReadAll(*source);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(*once[i].current, *again[i].current);
}

TEST_F(VideoClipTest, AReadingMayBeLeftBeforeItsEnd) {
  const auto source = VideoClip(path_, 64, 48);
  ASSERT_TRUE(source.ok()) << source.status();
  auto clip = source->open();
  ASSERT_TRUE(clip.ok());
  EXPECT_TRUE((*clip)->Next().ok());
  clip->reset();
  EXPECT_EQ(ReadAll(FirstPairs(*source, 3)).size(), 3u);
}

TEST(VideoClipErrorsTest, AFileThatIsNotThereIsNotFound) {
  const absl::Status status = VideoClip("nowhere.mp4", 64, 48).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere.mp4"));
}

TEST(VideoClipErrorsTest, ALiveSourceIsRefusedWithoutItsPassword) {
  for (const char* uri : {"rtsp://user:secret@camera/1", "test:ball"}) {
    const absl::Status status = VideoClip(uri, 64, 48).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << uri;
    EXPECT_THAT(std::string(status.message()), HasSubstr("record it"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace millrace::service
