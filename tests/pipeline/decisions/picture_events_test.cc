#include "pipeline/decisions/picture_events.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using enum SkipReason;
using ::testing::Each;
using ::testing::ElementsAre;

std::vector<SkipReason> EventsOf(PictureEvents& events, const std::vector<double>& differences) {
  std::vector<SkipReason> all;
  for (double difference : differences) all.push_back(events.Next(difference));
  return all;
}

TEST(PictureEventsTest, AStreetIsNoEvent) {
  PictureEvents events({});
  EXPECT_THAT(EventsOf(events, {0.01, 0.02, 0.015, 0.001, 0.03, 0.01, 0.05, 0.02}), Each(kNone));
}

TEST(PictureEventsTest, ARepetitionIsOneAndManyAreAFrozenPicture) {
  PictureEvents events({.frozen_after = 3});
  EXPECT_THAT(EventsOf(events, {0.01, 0, 0.01, 0, 0, 0.0001, 0, 0.01}),
              ElementsAre(kNone, kRepeated, kNone, kRepeated, kRepeated, kFrozen, kFrozen, kNone));
}

TEST(PictureEventsTest, AJumpIsACut) {
  PictureEvents events({});
  EXPECT_THAT(EventsOf(events, std::vector<double>(10, 0.02)), Each(kNone));
  EXPECT_THAT(EventsOf(events, {0.2, 0.02, 0.02, 0.3}), ElementsAre(kCut, kNone, kNone, kCut));
}

TEST(PictureEventsTest, ADarkPictureThatFlickersIsNoCut) {
  PictureEvents events({});
  EXPECT_THAT(EventsOf(events, std::vector<double>(10, 0.002)), Each(kNone));
  EXPECT_EQ(events.Next(0.05), kNone) << "25 times as much, but little";
}

TEST(PictureEventsTest, NothingIsACutBeforeTheCameraIsKnown) {
  PictureEvents events({});
  EXPECT_THAT(EventsOf(events, {0.5, 0.01, 0.4}), Each(kNone));
}

TEST(PictureEventsTest, CutsWithoutEndAreAFasterCamera) {
  PictureEvents events({});
  EXPECT_THAT(EventsOf(events, std::vector<double>(40, 0.02)), Each(kNone));
  std::vector<SkipReason> faster = EventsOf(events, std::vector<double>(40, 0.1));
  EXPECT_EQ(faster.front(), kCut);
  EXPECT_EQ(faster.back(), kNone);
}

TEST(PictureEventsTest, AFrozenPictureThatGoesOnElsewhereIsACut) {
  PictureEvents events({.frozen_after = 2});
  EXPECT_THAT(EventsOf(events, std::vector<double>(10, 0.02)), Each(kNone));
  EXPECT_THAT(EventsOf(events, {0, 0, 0.2}), ElementsAre(kRepeated, kFrozen, kCut));
}

}  // namespace
}  // namespace millrace::pipeline
