#include "pipeline/comparison/pseudo_truth.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/classical/reference_flow.h"
#include "pipeline/comparison/generated_clip.h"

namespace millrace::pipeline {
namespace {

ClipSource Scenes() { return GeneratedClip({.width = 128, .height = 96, .seed = 3, .pairs = 6}); }

double Off(const std::vector<float>& flow, const TrueFlow& truth, std::size_t pixel) {
  return std::hypot(flow[2 * pixel] - truth.flow[2 * pixel],
                    flow[2 * pixel + 1] - truth.flow[2 * pixel + 1]);
}

std::vector<ClipPair> ReadAll(const ClipSource& source) {
  const auto clip = source.open();
  EXPECT_TRUE(clip.ok()) << clip.status();
  std::vector<ClipPair> pairs;
  for (;;) {
    auto pair = (*clip)->Next();
    EXPECT_TRUE(pair.ok()) << pair.status();
    if (!pair->has_value()) return pairs;
    pairs.push_back(**pair);
  }
}

// The oracle is the generator's exact motion.
TEST(PseudoTruthTest, IsCloserToTheTruthThanDisWhereItKnows) {
  const ClipSource source = Scenes();
  const auto dis = MakeReferenceFlow("dis", source.width, source.height);
  ASSERT_TRUE(dis.ok());
  double of_pseudo = 0;
  double of_dis = 0;
  int known = 0;
  int hidden = 0;
  int known_hidden = 0;
  int pixels = 0;
  for (const ClipPair& pair : ReadAll(source)) {
    const TrueFlow pseudo =
        PseudoTruthOf(*pair.previous, *pair.current, source.width, source.height);
    EXPECT_EQ(pseudo.width, source.width);
    EXPECT_EQ(pseudo.height, source.height);
    if (pair.truth == nullptr) continue;  // A cut.
    const std::vector<float> flow = (*dis)->Flow(*pair.previous, *pair.current);
    for (std::size_t i = 0; i < pseudo.known.size(); ++i) {
      ++pixels;
      const bool is_hidden = pair.truth->visible[i] == 0;
      hidden += is_hidden ? 1 : 0;
      if (pseudo.known[i] == 0) continue;
      known_hidden += is_hidden ? 1 : 0;
      ++known;
      of_pseudo += Off(pseudo.flow, *pair.truth, i);
      of_dis += Off(flow, *pair.truth, i);
    }
  }
  EXPECT_LT(of_pseudo, 0.9 * of_dis);
  EXPECT_GT(known, pixels / 2);
  ASSERT_GT(hidden, 100);
  EXPECT_LT(known_hidden, hidden / 2) << "what is hidden has no match";
}

TEST(PseudoTruthTest, ReplacesTheClipsTruthAndChangesNothingElse) {
  const ClipSource source = Scenes();
  int counted = 0;
  const auto with = WithPseudoTruth(source, [&] { ++counted; }, {});
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(with->name, source.name);
  EXPECT_EQ(counted, 6);
  const std::vector<ClipPair> before = ReadAll(source);
  const std::vector<ClipPair> after = ReadAll(*with);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(*after[i].current, *before[i].current);
    EXPECT_EQ(after[i].number, before[i].number);
    const TrueFlow once = PseudoTruthOf(*before[i].previous, *before[i].current, 128, 96);
    EXPECT_EQ(after[i].truth->known, once.known);
    for (std::size_t pixel = 0; pixel < once.known.size(); ++pixel) {
      ASSERT_LE(Off(once.flow, *after[i].truth, pixel), 1.0 / 256);
    }
  }
}

TEST(PseudoTruthTest, MoreThanMemoryIsRefusedWithANumberThatFits) {
  ClipSource source = Scenes();
  source.width = 352;
  source.height = 256;
  EXPECT_TRUE(CheckPseudoTruthFits(source, 8000).ok());
  const absl::Status refused = CheckPseudoTruthFits(source, 15'000);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("evaluate 8877 pairs or fewer"));
}

TEST(PseudoTruthTest, EndsWhenAskedTo) {
  std::stop_source stop;
  const auto with = WithPseudoTruth(
      Scenes(), [&stop] { stop.request_stop(); }, stop.get_token());
  EXPECT_TRUE(absl::IsCancelled(with.status()));
}

}  // namespace
}  // namespace millrace::pipeline
