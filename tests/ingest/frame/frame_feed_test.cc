#include "ingest/frame/frame_feed.h"

#include <gtest/gtest.h>

#include <thread>

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::shared_ptr<const Picture> AnyPicture() { return std::make_shared<Picture>(); }

DecodedPicture PictureAt(nanoseconds stream_time) {
  DecodedPicture decoded;
  decoded.picture = AnyPicture();
  decoded.stream_time = stream_time;
  return decoded;
}

class FrameFeedTest : public ::testing::Test {
 protected:
  Frame TakeAndPop(DecodedPicture decoded) {
    feed_.Take(std::move(decoded));
    return feed_.queue().Pop().value();
  }

  FakeClock clock_{seconds(100)};
  FrameFeed feed_{clock_, /*capacity=*/4, WhenFull::kDropOldest};
};

TEST_F(FrameFeedTest, KeepsThreeClocksApart) {
  DecodedPicture decoded = PictureAt(milliseconds(40));
  decoded.camera_time = seconds(1'700'000'000);
  const Frame frame = TakeAndPop(decoded);

  EXPECT_EQ(frame.arrival, seconds(100));
  EXPECT_EQ(frame.stream_time, milliseconds(40));
  EXPECT_EQ(frame.camera_time, seconds(1'700'000'000));
  EXPECT_EQ(TakeAndPop(PictureAt(milliseconds(80))).camera_time, std::nullopt);
}

TEST_F(FrameFeedTest, TimesFramesByTheirArrivalWhereTheStreamHasNoTime) {
  DecodedPicture decoded;
  decoded.picture = AnyPicture();
  EXPECT_EQ(TakeAndPop(decoded).stream_time, nanoseconds(0));
  clock_.Advance(milliseconds(30));
  EXPECT_EQ(TakeAndPop(decoded).stream_time, milliseconds(30));
}

TEST_F(FrameFeedTest, WhatIsSkippedHasNeverBeen) {
  FrameFeed feed(clock_, /*capacity=*/16, WhenFull::kDropOldest, /*max_frames_per_second=*/12.5);
  for (int i = 0; i < 30; ++i) feed.Take(PictureAt(i * milliseconds(40)));
  EXPECT_EQ(feed.frames(), 15);
  EXPECT_EQ(feed.skipped(), 15);
  EXPECT_EQ(feed.queue().received(), 15U);
  EXPECT_EQ(feed.PictureInterval(), milliseconds(40)) << "the camera's own, all the same";
  std::shared_ptr<const Picture> before;
  for (int i = 0; i < 15; ++i) {
    const Frame frame = feed.queue().Pop().value();
    EXPECT_EQ(frame.number, i);
    EXPECT_EQ(frame.stream_time, i * milliseconds(80));
    EXPECT_EQ(frame.previous, before);
    before = frame.picture;
  }
}

TEST_F(FrameFeedTest, ACameraThatIsFasterThanItsTimesIsHeldByTheirArrival) {
  const auto frames = [this](FrameFeed::Times times) {
    FrameFeed feed(clock_, 16, WhenFull::kDropOldest, /*max_frames_per_second=*/2, times);
    for (int i = 0; i < 1000; ++i) feed.Take(PictureAt(i * milliseconds(500)));  // All of them now.
    return feed.frames();
  };
  EXPECT_EQ(frames(FrameFeed::Times::kOfStream), 1000);
  EXPECT_LE(frames(FrameFeed::Times::kAndOfArrival), 7);
}

TEST_F(FrameFeedTest, GivesEachFrameTheOneBefore) {
  const Frame first = TakeAndPop(PictureAt(milliseconds(0)));
  const Frame second = TakeAndPop(PictureAt(milliseconds(40)));

  EXPECT_EQ(first.predecessor, NoPredecessor::kFirst);
  EXPECT_EQ(first.previous, nullptr);
  EXPECT_EQ(second.predecessor, NoPredecessor::kHasOne);
  EXPECT_EQ(second.previous, first.picture);
  EXPECT_EQ(second.before, nullptr);
  const Frame third = TakeAndPop(PictureAt(milliseconds(80)));
  EXPECT_EQ(third.previous, second.picture);
  EXPECT_EQ(third.before, first.picture);
}

// Overload must not tear pairs apart: the learner would skip every frame that it could have used.
TEST_F(FrameFeedTest, KeepsThePredecessorOfAFrameEvenIfItWasDropped) {
  std::vector<DecodedPicture> taken;
  for (int i = 0; i < 6; ++i) {
    taken.push_back(PictureAt(milliseconds(40 * i)));
    feed_.Take(taken.back());
  }
  ASSERT_EQ(feed_.queue().dropped(), 2u);
  const Frame frame = feed_.queue().Pop().value();
  EXPECT_EQ(frame.number, 2);
  EXPECT_EQ(frame.previous, taken[1].picture);
  EXPECT_EQ(frame.before, taken[0].picture);
}

TEST_F(FrameFeedTest, BeginsAnEpochWithoutAPredecessorAndNumbersOn) {
  static_cast<void>(TakeAndPop(PictureAt(milliseconds(0))));
  static_cast<void>(TakeAndPop(PictureAt(milliseconds(40))));
  feed_.BeginEpoch();
  EXPECT_EQ(feed_.epoch(), 0);
  const Frame frame = TakeAndPop(PictureAt(milliseconds(0)));

  EXPECT_EQ(frame.number, 2);
  EXPECT_EQ(frame.epoch, 1);
  EXPECT_EQ(frame.predecessor, NoPredecessor::kFirst);
  EXPECT_EQ(frame.previous, nullptr);
  EXPECT_EQ(TakeAndPop(PictureAt(milliseconds(40))).before, nullptr);
  EXPECT_EQ(feed_.epoch(), 1);
  EXPECT_EQ(feed_.frames(), 4);
}

TEST_F(FrameFeedTest, SessionsWithoutAFrameMakeNoEpoch) {
  feed_.BeginEpoch();
  feed_.BeginEpoch();
  EXPECT_EQ(TakeAndPop(PictureAt(milliseconds(0))).epoch, 0);
  feed_.BeginEpoch();
  feed_.BeginEpoch();
  EXPECT_EQ(TakeAndPop(PictureAt(milliseconds(0))).epoch, 1);
}

TEST_F(FrameFeedTest, LeavesOutThePredecessorAfterAGap) {
  for (int i = 0; i < 5; ++i) static_cast<void>(TakeAndPop(PictureAt(milliseconds(40 * i))));
  const Frame late = TakeAndPop(PictureAt(milliseconds(400)));
  const Frame next = TakeAndPop(PictureAt(milliseconds(440)));

  EXPECT_EQ(late.predecessor, NoPredecessor::kGap);
  EXPECT_EQ(late.previous, nullptr);
  EXPECT_EQ(next.predecessor, NoPredecessor::kHasOne);
  EXPECT_EQ(next.previous, late.picture);
  EXPECT_EQ(next.before, nullptr) << "there is a gap between them";
  EXPECT_EQ(feed_.PictureInterval(), milliseconds(40));
}

TEST_F(FrameFeedTest, ASessionsPictureIntervalIsItsOwn) {
  for (int i = 0; i < 5; ++i) static_cast<void>(TakeAndPop(PictureAt(milliseconds(40 * i))));
  feed_.BeginEpoch();
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(TakeAndPop(PictureAt(milliseconds(100 * i))));
    EXPECT_EQ(feed_.PictureInterval().has_value(), i == 3) << i;
  }
  EXPECT_EQ(feed_.PictureInterval(), milliseconds(100));
}

TEST_F(FrameFeedTest, EveryFrameTellsTheGapsAndSizesSoFar) {
  for (int i = 0; i < 4; ++i) {
    const Frame frame = TakeAndPop(PictureAt(milliseconds(40 * i)));
    EXPECT_EQ(frame.gaps, 0);
    EXPECT_EQ(frame.size_changes, 0);
  }
  EXPECT_EQ(TakeAndPop(PictureAt(milliseconds(400))).gaps, 1);
  EXPECT_EQ(TakeAndPop(PictureAt(milliseconds(440))).gaps, 1) << "whoever missed the one before";

  feed_.ChangeSize();
  EXPECT_EQ(feed_.size_changes(), 1);
  const Frame other = TakeAndPop(PictureAt(milliseconds(480)));
  EXPECT_EQ(other.epoch, 1);
  EXPECT_EQ(other.predecessor, NoPredecessor::kFirst);
  EXPECT_EQ(other.size_changes, 1);
  feed_.BeginEpoch();
  const Frame later = TakeAndPop(PictureAt(milliseconds(0)));
  EXPECT_EQ(later.size_changes, 1) << "a new session is of no other size";
  EXPECT_EQ(later.gaps, 1) << "nor is it a gap";
}

TEST_F(FrameFeedTest, AnswersQuestionsWhileItIsFed) {
  std::jthread camera([this] {
    for (int i = 0; i < 2000; ++i) {
      if (i % 100 == 0) feed_.BeginEpoch();
      feed_.Take(PictureAt(milliseconds(i)));
    }
    feed_.queue().Close();
  });
  std::int64_t last = -1;
  std::int64_t epoch = 0;
  while (const std::optional<Frame> frame = feed_.queue().Pop()) {
    EXPECT_GT(frame->number, last);
    EXPECT_GE(frame->epoch, epoch);
    EXPECT_GE(feed_.epoch(), frame->epoch);
    EXPECT_GT(feed_.frames(), frame->number);
    last = frame->number;
    epoch = frame->epoch;
  }
  EXPECT_EQ(last, 1999);
  EXPECT_EQ(epoch, 19);
}

}  // namespace
}  // namespace millrace::ingest
