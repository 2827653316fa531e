#include "pipeline/comparison/generated_clip.h"

#include <gtest/gtest.h>

#include "pipeline/evaluation/pictures.h"
#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

std::vector<ClipPair> ReadAll(const ClipSource& source) {
  const std::unique_ptr<Clip> clip = *source.open();
  std::vector<ClipPair> pairs;
  while (std::optional<ClipPair> pair = *clip->Next()) pairs.push_back(*std::move(pair));
  return pairs;
}

class GeneratedClipTest : public ::testing::Test {
 protected:
  const GeneratedClipOptions options_ = {
      .width = 80, .height = 48, .seed = 5, .pairs = 60, .frames_per_second = 20};
};

TEST_F(GeneratedClipTest, ItHasTheSizeAndTheNumberOfPairsThatItWasAskedFor) {
  const ClipSource source = GeneratedClip(options_);
  EXPECT_EQ(source.width, 80);
  EXPECT_EQ(source.height, 48);
  EXPECT_NE(source.name, GeneratedClip({.seed = 6}).name);
  const std::vector<ClipPair> pairs = ReadAll(source);
  ASSERT_EQ(pairs.size(), 60u);
  for (std::int64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(pairs[i].number, i);
    EXPECT_EQ(pairs[i].stream_time, std::chrono::milliseconds(50) * (i + 1));
    EXPECT_EQ(pairs[i].previous->size(), std::size_t{3} * 80 * 48);
    EXPECT_EQ(pairs[i].current->size(), std::size_t{3} * 80 * 48);
    ASSERT_NE(pairs[i].truth, nullptr);
    EXPECT_EQ(pairs[i].truth->flow.size(), std::size_t{2} * 80 * 48);
  }
}

TEST_F(GeneratedClipTest, ItIsTheSameEachTimeItIsOpened) {
  const ClipSource source = GeneratedClip(options_);
  const std::vector<ClipPair> once = ReadAll(source);
  const std::vector<ClipPair> again = ReadAll(source);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(*once[i].previous, *again[i].previous);
    EXPECT_EQ(*once[i].current, *again[i].current);
    EXPECT_EQ(once[i].truth->flow, again[i].truth->flow);
  }
  GeneratedClipOptions other = options_;
  other.seed = 6;
  EXPECT_NE(*ReadAll(GeneratedClip(other)).front().current, *once.front().current);
}

TEST_F(GeneratedClipTest, LookedUpThroughTheTruthTheCurrentPictureIsThePreviousOne) {
  double through_truth = 0;
  double at_rest = 0;
  for (const ClipPair& pair : ReadAll(GeneratedClip(options_))) {
    const PairOfPictures pictures(*pair.previous, *pair.current, 80, 48);
    through_truth += pictures.Loss(pair.truth->flow);
    at_rest += pictures.LossOfNoMotion();
  }
  // Noise of their own and what got hidden are left.
  EXPECT_LT(through_truth, 0.8 * at_rest);
}

TEST_F(GeneratedClipTest, WithoutPairsItEndsAtOnce) {
  GeneratedClipOptions none = options_;
  none.pairs = 0;
  EXPECT_TRUE(ReadAll(GeneratedClip(none)).empty());
}

}  // namespace
}  // namespace millrace::pipeline
