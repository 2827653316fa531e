#include "ingest/source/abandoned_pipelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

std::string WhyNot(const PipelineOwner& owner) {
  return std::string(PipelineSlot::Take(owner).status().message());
}

/// Leaves a pipeline behind, if it may begin at all.
bool Hang(const PipelineOwner& owner, std::vector<PipelineSlot>& hanging) {
  absl::StatusOr<PipelineSlot> slot = PipelineSlot::Take(owner);
  if (!slot.ok()) return false;
  slot->Abandon();
  hanging.push_back(*std::move(slot));
  return true;
}

TEST(AbandonedPipelinesTest, CountsThoseOfAnOwnerUntilTheyHaveEnded) {
  const PipelineOwner door = {.name = "door", .place = "a:554"};
  const std::int64_t so_far = CountAbandoned().so_far;
  std::vector<PipelineSlot> hanging;
  while (Hang(door, hanging)) {
  }
  EXPECT_EQ(HangingOf(door), kMaxHangingOfOne);
  EXPECT_THAT(WhyNot(door), HasSubstr("3 pipelines of earlier sessions hang in GStreamer"));
  EXPECT_EQ(HangingOf({.name = "gate", .place = "a:554"}), 0);
  hanging.pop_back();
  EXPECT_EQ(HangingOf(door), kMaxHangingOfOne - 1);
  EXPECT_EQ(WhyNot(door), "");
  hanging.clear();
  EXPECT_EQ(CountAbandoned().hanging, 0);
  EXPECT_EQ(CountAbandoned().so_far, so_far + kMaxHangingOfOne);
}

// Checked before they began and counted once they hung, they were any number.
TEST(AbandonedPipelinesTest, SessionsThatRunSideBySideDoNotPassTheLimit) {
  const PipelineOwner door = {.name = "door", .place = "a:554"};
  std::vector<PipelineSlot> slots;
  ASSERT_TRUE(Hang(door, slots));
  std::vector<PipelineSlot> open;
  for (int i = 0; i < 10; ++i) {
    if (absl::StatusOr<PipelineSlot> slot = PipelineSlot::Take(door); slot.ok()) {
      open.push_back(*std::move(slot));
    }
  }
  for (PipelineSlot& slot : open) slot.Abandon();
  EXPECT_EQ(HangingOf(door), kMaxHangingOfOne);
}

// One hostile camera that many streams were made of kept all others from being opened.
TEST(AbandonedPipelinesTest, ACameraOfManyNamesLeavesRoomForOthers) {
  std::vector<PipelineSlot> hanging;
  for (int i = 0; i < 100; ++i) {
    while (Hang({.name = absl::StrCat("stream-", i), .place = "hostile:554"}, hanging)) {
    }
  }
  EXPECT_EQ(CountAbandoned().hanging, kMaxHangingOfPlace);
  EXPECT_THAT(WhyNot({.name = "new", .place = "hostile:554"}),
              HasSubstr("16 pipelines of sources at hostile:554 hang"));
  EXPECT_EQ(WhyNot({.name = "new", .place = "good:554"}), "");
}

TEST(AbandonedPipelinesTest, WhereVeryManyHangOnlyPlacesWithoutAnyMayBegin) {
  std::vector<PipelineSlot> hanging;
  for (int i = 0; CountAbandoned().hanging < kMaxHanging; ++i) {
    const std::string place = absl::StrCat("hostile-", i, ":554");
    ASSERT_TRUE(Hang({.name = "a", .place = place}, hanging));
  }
  EXPECT_THAT(WhyNot({.name = "b", .place = "hostile-0:554"}),
              HasSubstr("64 pipelines of all sources"));
  EXPECT_EQ(WhyNot({.name = "b", .place = "good:554"}), "");
}

}  // namespace
}  // namespace millrace::ingest
