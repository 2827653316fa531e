// The limits of a session follow the camera's own rate, even if it is slow, jittery or bunched.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>

#include "base/clock.h"
#include "ingest/source/session_machine.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Step = SessionMachine::Step;

class SlowCameraTest : public ::testing::Test {
 protected:
  SlowCameraTest() { EXPECT_EQ(machine_.Decide(clock_.Now()).step, Step::kBegin); }

  /// Advances the clock by `time`, and decides at each time that the machine asks for.
  void Wait(nanoseconds time) {
    const nanoseconds end = clock_.Now() + time;
    for (;;) {
      const SessionMachine::Decision decision = machine_.Decide(clock_.Now());
      if (decision.step != Step::kWait || decision.until > end) break;
      clock_.Advance(decision.until - clock_.Now());
    }
    clock_.Advance(end - clock_.Now());
  }

  /// Frames that each come so long after the one before, or the beginning.
  void Frames(int count, nanoseconds interval) {
    for (int i = 0; i < count; ++i) {
      Wait(interval);
      machine_.OnFrame(clock_.Now());
    }
  }

  [[nodiscard]] int Times(SourceState state) {
    for (const auto& transition : machine_.TakeTransitions()) {
      ++times_[static_cast<std::size_t>(transition.to)];
    }
    return times_[static_cast<std::size_t>(state)];
  }

  /// No more frames come: after how long they have stalled, and after how long it is given up.
  void ExpectDies(nanoseconds stalled_after, nanoseconds given_up_after) {
    const nanoseconds begin = clock_.Now();
    const int stalls = Times(SourceState::kStalled);
    SessionMachine::Decision decision = machine_.Decide(begin);
    EXPECT_EQ(decision.until - begin, stalled_after);
    clock_.Advance(decision.until - begin);
    decision = machine_.Decide(clock_.Now());
    EXPECT_EQ(decision.step, Step::kWait) << "stalled and given up at once";
    EXPECT_EQ(Times(SourceState::kStalled), stalls + 1);
    EXPECT_EQ(decision.until - begin, given_up_after);
    clock_.Advance(decision.until - clock_.Now());
    EXPECT_EQ(machine_.Decide(clock_.Now()).step, Step::kEnd);
  }

  FakeClock clock_{seconds(1000)};
  SessionMachine machine_{{}, Backoff({.jitter = 0}, /*seed=*/1)};

 private:
  std::array<int, kSourceStates.size()> times_ = {};
};

TEST_F(SlowCameraTest, OneFrameASecondThatJittersNeverStalls) {
  std::mt19937 random(5);
  for (int i = 0; i < 1000; ++i) Frames(1, milliseconds(700 + random() % 600));
  EXPECT_EQ(Times(SourceState::kStalled), 0);
  EXPECT_EQ(Times(SourceState::kStreaming), 1);
  EXPECT_EQ(machine_.sessions(), 1);
}

TEST_F(SlowCameraTest, AtAnyRateAStallIsSeenBeforeItIsGivenUp) {
  Frames(20, milliseconds(40));
  ExpectDies(seconds(1), seconds(2));
}

TEST_F(SlowCameraTest, AtLessThanOneFrameInAStallTimeoutToo) {
  Frames(20, milliseconds(800));
  ExpectDies(milliseconds(1600), milliseconds(3200));
}

TEST_F(SlowCameraTest, OnlyTheFirstFramesOfACameraThatAnnouncesNothingGetMoreTime) {
  Frames(1, seconds(1));
  ExpectDies(seconds(2), seconds(4));
}

TEST_F(SlowCameraTest, WhatACameraAnnouncesCountsFromTheFirstFrameOn) {
  machine_.ExpectFrameEvery(milliseconds(40));
  Frames(1, seconds(1));
  ExpectDies(seconds(1), seconds(2));
}

TEST_F(SlowCameraTest, AnAnnouncedIntervalOfSecondsIsWaitedFor) {
  machine_.ExpectFrameEvery(seconds(4));
  for (int i = 0; i < 20; ++i) Frames(1, milliseconds(i % 2 == 0 ? 3000 : 5000));
  EXPECT_EQ(Times(SourceState::kStalled), 0);
  EXPECT_EQ(machine_.sessions(), 1);
  machine_.ExpectFrameEvery(seconds(4));
  ExpectDies(seconds(8), seconds(16));
}

TEST_F(SlowCameraTest, WhatItDoesCountsMoreThanWhatItAnnounced) {
  machine_.ExpectFrameEvery(seconds(10));
  Frames(20, milliseconds(40));
  ExpectDies(seconds(1), seconds(2));
}

TEST_F(SlowCameraTest, ANewAnnouncementIsNews) {
  machine_.ExpectFrameEvery(milliseconds(40));
  Frames(20, milliseconds(40));
  machine_.ExpectFrameEvery(seconds(3));
  Frames(5, seconds(3));
  EXPECT_EQ(Times(SourceState::kStalled), 0);
}

// TCP hands over together what was lost and sent again.
TEST_F(SlowCameraTest, BunchedFramesAreNoFasterOnes) {
  for (int bunch = 0; bunch < 20; ++bunch) {
    Frames(1, milliseconds(1900));
    Frames(3, milliseconds(1));
  }
  EXPECT_EQ(Times(SourceState::kStalled), 0);
  EXPECT_EQ(machine_.sessions(), 1);
}

TEST_F(SlowCameraTest, AStallThatWasGotOverIsNotItsRate) {
  Frames(20, milliseconds(100));
  Frames(1, milliseconds(1500));
  EXPECT_EQ(Times(SourceState::kStalled), 1);
  Frames(1, milliseconds(100));
  ExpectDies(seconds(1), seconds(2));
}

TEST_F(SlowCameraTest, ACameraThatSlowsDownForGoodStallsNoMore) {
  Frames(20, milliseconds(100));
  Frames(20, milliseconds(1500));
  EXPECT_EQ(Times(SourceState::kStalled), 2);
  EXPECT_EQ(machine_.sessions(), 1);
}

// Else each wait that was just long enough would make the next one longer.
TEST_F(SlowCameraTest, PatienceHasAnEnd) {
  Frames(3, milliseconds(1900));
  for (int i = 0; i < 10; ++i) Frames(1, milliseconds(3900));
  ExpectDies(seconds(4), seconds(8));
}

}  // namespace
}  // namespace millrace::ingest
