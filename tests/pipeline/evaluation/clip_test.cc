#include "pipeline/evaluation/clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr int kWidth = 6;
constexpr int kHeight = 4;

class ClipTest : public ::testing::Test {
 protected:
  static std::vector<ClipPair> ReadAll(const ClipSource& source) {
    const std::unique_ptr<Clip> clip = *source.open();
    std::vector<ClipPair> pairs;
    while (std::optional<ClipPair> pair = *clip->Next()) pairs.push_back(*std::move(pair));
    return pairs;
  }

  [[nodiscard]] std::vector<ClipPair> Pairs(int pairs) {
    return RandomPairs(pairs, kWidth, kHeight, milliseconds(100), random_);
  }

  std::mt19937 random_{1};
};

TEST_F(ClipTest, TheFirstPartIsOfTheStreamsOwnTimeAndEndsOnce) {
  const ClipSource whole = MadeClip("clip", kWidth, kHeight, Pairs(12));
  EXPECT_EQ(ReadAll(FirstPart(whole, milliseconds(500))).size(), 5u);
  EXPECT_EQ(ReadAll(FirstPart(whole, milliseconds(501))).size(), 6u);
  EXPECT_EQ(ReadAll(FirstPart(whole, milliseconds(9000))).size(), 12u);
  const std::unique_ptr<Clip> part = *FirstPart(whole, milliseconds(100)).open();
  EXPECT_TRUE((*part->Next()).has_value());
  EXPECT_FALSE((*part->Next()).has_value());
  EXPECT_FALSE((*part->Next()).has_value()) << "the end stays the end";
}

TEST_F(ClipTest, EachPairHasThePictureBeforeAndTheFirstPairIsLeftOut) {
  const std::vector<ClipPair> pairs = Pairs(6);
  const ClipSource source = WithPictureBefore(MadeClip("clip", kWidth, kHeight, pairs));
  EXPECT_TRUE(source.with_before);
  for (int reading = 0; reading < 2; ++reading) {
    const std::vector<ClipPair> threes = ReadAll(source);
    ASSERT_EQ(threes.size(), 5u);
    for (std::size_t i = 0; i < threes.size(); ++i) {
      EXPECT_EQ(threes[i].number, static_cast<std::int64_t>(i));
      EXPECT_EQ(threes[i].stream_time, pairs[i + 1].stream_time);
      EXPECT_EQ(threes[i].before, pairs[i].previous);
      EXPECT_EQ(threes[i].previous, pairs[i + 1].previous);
      EXPECT_EQ(threes[i].current, pairs[i + 1].current);
    }
  }
}

TEST_F(ClipTest, PicturesThatAreEqualFollowOnOneAnother) {
  std::vector<ClipPair> pairs = Pairs(2);
  pairs[1].previous = std::make_shared<const std::vector<std::uint8_t>>(*pairs[1].previous);
  EXPECT_EQ(ReadAll(WithPictureBefore(MadeClip("clip", kWidth, kHeight, pairs))).size(), 1u);
}

TEST_F(ClipTest, NoThreePicturesAreOfTwoScenes) {
  std::vector<ClipPair> pairs = Pairs(4);
  const std::vector<ClipPair> scene = Pairs(3);
  pairs.insert(pairs.end(), scene.begin(), scene.end());
  const std::vector<ClipPair> threes =
      ReadAll(WithPictureBefore(MadeClip("clip", kWidth, kHeight, pairs)));
  ASSERT_EQ(threes.size(), 3u + 2u);
  EXPECT_EQ(threes[3].before, scene[0].previous);
  EXPECT_EQ(threes[3].number, 3);
}

TEST_F(ClipTest, WithoutThreePicturesItIsEmptyAndSaysSo) {
  const ClipSource source = WithPictureBefore(MadeClip("two", kWidth, kHeight, Pairs(1)));
  EXPECT_TRUE(ReadAll(source).empty());
  EXPECT_THAT(std::string(NoPairs(source).message()), HasSubstr("two has no three pictures"));
}

TEST_F(ClipTest, ATornClipIsTornInThreesToo) {
  const std::unique_ptr<Clip> clip =
      *WithPictureBefore(MadeClip("torn", kWidth, kHeight, Pairs(5), 2)).open();
  EXPECT_TRUE(clip->Next().ok());
  EXPECT_EQ(clip->Next().status(), absl::DataLossError("the clip is torn"));
}

}  // namespace
}  // namespace millrace::pipeline
