#include "ingest/source/session_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "base/clock.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using Step = SessionMachine::Step;

class SessionMachineTest : public ::testing::Test {
 protected:
  Step Decide() { return machine_.Decide(clock_.Now()).step; }
  nanoseconds WaitsFor() { return machine_.Decide(clock_.Now()).until - clock_.Now(); }
  void Frame() { machine_.OnFrame(clock_.Now()); }
  std::vector<SourceState> States() {
    std::vector<SourceState> states;
    for (const auto& transition : machine_.TakeTransitions()) states.push_back(transition.to);
    return states;
  }

  /// Begins a session and shows frames for `length`, one every 100 ms.
  void Stream(nanoseconds length) {
    ASSERT_EQ(Decide(), Step::kBegin);
    Frame();
    for (nanoseconds end = clock_.Now() + length; clock_.Now() < end;) {
      clock_.Advance(milliseconds(100));
      Frame();
      ASSERT_EQ(Decide(), Step::kWait);
    }
  }

  /// Lets the session fail; returns how long the machine waits before the next.
  nanoseconds FailAndBackOff() {
    machine_.OnFailure(absl::UnavailableError("gone"));
    EXPECT_EQ(Decide(), Step::kEnd);
    const nanoseconds wait = WaitsFor();
    clock_.Advance(wait);
    return wait;
  }

  FakeClock clock_{seconds(1000)};
  SessionMachine machine_{{}, Backoff({.jitter = 0}, /*seed=*/1)};
};

TEST_F(SessionMachineTest, BeginsAtOnce) {
  EXPECT_EQ(Decide(), Step::kBegin);
  EXPECT_EQ(machine_.state(), SourceState::kConnecting);
  EXPECT_EQ(machine_.sessions(), 1);
  EXPECT_EQ(WaitsFor(), seconds(8));
}

TEST_F(SessionMachineTest, StreamsFromTheFirstFrame) {
  ASSERT_EQ(Decide(), Step::kBegin);
  Frame();
  EXPECT_EQ(machine_.state(), SourceState::kStreaming);
  EXPECT_EQ(WaitsFor(), seconds(2)) << "how fast it is, nobody knows yet";
}

TEST_F(SessionMachineTest, BeginsNoSessionBeforeItIsHeldOffNoLonger) {
  ASSERT_EQ(Decide(), Step::kBegin);
  machine_.HoldOff(clock_.Now() + seconds(10));
  EXPECT_EQ(FailAndBackOff(), seconds(10));
  EXPECT_EQ(Decide(), Step::kBegin);
  EXPECT_EQ(FailAndBackOff(), milliseconds(400)) << "the second of the usual waits";
}

TEST_F(SessionMachineTest, GivesUpWithoutAFirstFrame) {
  ASSERT_EQ(Decide(), Step::kBegin);
  clock_.Advance(seconds(8) - nanoseconds(1));
  EXPECT_EQ(Decide(), Step::kWait);
  clock_.Advance(nanoseconds(1));
  EXPECT_EQ(Decide(), Step::kEnd);
  EXPECT_EQ(machine_.state(), SourceState::kBackingOff);
  EXPECT_EQ(machine_.cause(), absl::UnavailableError("no first frame within 8 s"));
}

TEST_F(SessionMachineTest, GivesUpWhenFramesStayAway) {
  Stream(seconds(1));
  clock_.Advance(seconds(2));
  EXPECT_EQ(Decide(), Step::kEnd);
  EXPECT_EQ(machine_.cause(), absl::UnavailableError("no frame within 2 s"));
}

TEST_F(SessionMachineTest, HasStalledWhenFramesStayAwayForHalfOfThat) {
  Stream(seconds(1));
  clock_.Advance(seconds(1) - nanoseconds(1));
  EXPECT_EQ(Decide(), Step::kWait);
  EXPECT_EQ(machine_.state(), SourceState::kStreaming);
  clock_.Advance(nanoseconds(1));
  EXPECT_EQ(WaitsFor(), seconds(1));
  EXPECT_EQ(machine_.state(), SourceState::kStalled);
  EXPECT_EQ(machine_.cause(), absl::UnavailableError("no frame for 1 s"));
  Frame();
  EXPECT_EQ(machine_.state(), SourceState::kStreaming);
  EXPECT_TRUE(machine_.cause().ok());
}

TEST_F(SessionMachineTest, TellsEachTransitionOnceWithItsCause) {
  Stream(seconds(1));
  clock_.Advance(seconds(1));
  ASSERT_EQ(Decide(), Step::kWait);
  clock_.Advance(seconds(1));
  ASSERT_EQ(Decide(), Step::kEnd);
  const auto transitions = machine_.TakeTransitions();
  ASSERT_EQ(transitions.size(), 4U);
  EXPECT_EQ(transitions[2].cause, absl::UnavailableError("no frame for 1 s"));
  EXPECT_EQ(transitions[3].cause, absl::UnavailableError("no frame within 2 s"));
  clock_.Advance(seconds(1));
  ASSERT_EQ(Decide(), Step::kBegin);
  EXPECT_THAT(States(), ElementsAre(SourceState::kConnecting));
  EXPECT_TRUE(machine_.TakeTransitions().empty());
}

TEST_F(SessionMachineTest, KeepsTheFirstCauseOfASession) {
  Stream(seconds(1));
  machine_.OnFailure(absl::NotFoundError("first"));
  machine_.OnFailure(absl::UnavailableError("second"));
  ASSERT_EQ(Decide(), Step::kEnd);
  EXPECT_EQ(machine_.cause(), absl::NotFoundError("first"));
}

TEST_F(SessionMachineTest, ShowsTheCauseUntilFramesComeAgain) {
  Stream(seconds(1));
  FailAndBackOff();
  ASSERT_EQ(Decide(), Step::kBegin);
  EXPECT_EQ(machine_.cause(), absl::UnavailableError("gone"));
  Frame();
  EXPECT_TRUE(machine_.cause().ok());
}

TEST_F(SessionMachineTest, IgnoresWhatComesBetweenSessions) {
  Stream(seconds(1));
  machine_.OnFailure(absl::UnavailableError("gone"));
  ASSERT_EQ(Decide(), Step::kEnd);
  Frame();
  machine_.OnFailure(absl::InternalError("late"));
  EXPECT_EQ(machine_.state(), SourceState::kBackingOff);
  EXPECT_EQ(machine_.cause(), absl::UnavailableError("gone"));
}

TEST_F(SessionMachineTest, WaitsLongerWithEachFailure) {
  for (const int expected : {200, 400, 800, 1600, 2000, 2000}) {
    ASSERT_EQ(Decide(), Step::kBegin);
    EXPECT_EQ(FailAndBackOff(), milliseconds(expected));
  }
}

TEST_F(SessionMachineTest, AHealthySessionEndsTheLongWaits) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Decide(), Step::kBegin);
    FailAndBackOff();
  }
  Stream(seconds(6));
  EXPECT_EQ(FailAndBackOff(), milliseconds(200));
}

TEST_F(SessionMachineTest, HoldsOnceFramesHaveComeForSomeSecondsWithoutAStall) {
  Stream(milliseconds(4900));
  EXPECT_FALSE(machine_.holds());
  clock_.Advance(milliseconds(100));
  EXPECT_FALSE(machine_.holds()) << "time alone shows nothing";
  Frame();
  EXPECT_TRUE(machine_.holds());
  clock_.Advance(seconds(1));
  ASSERT_EQ(Decide(), Step::kWait);
  EXPECT_FALSE(machine_.holds());
  Frame();
  EXPECT_FALSE(machine_.holds()) << "though the session is as old as before";
}

// A camera that shows one frame and dies, again and again, must not get too many connections.
TEST_F(SessionMachineTest, AShortSessionDoesNotEndTheLongWaits) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Decide(), Step::kBegin);
    FailAndBackOff();
  }
  Stream(seconds(1));
  EXPECT_EQ(FailAndBackOff(), seconds(2));
}

// Whatever happens in whatever order: sessions begin and end in turn, tries never come faster than
// the shortest wait, and the machine never waits for longer than its longest limit.
TEST_F(SessionMachineTest, KeepsItsPromisesUnderRandomEvents) {
  std::mt19937 random(99);
  bool in_session = false;
  std::optional<SourceState> told;
  nanoseconds ended_at = clock_.Now() - minutes(1);
  for (int i = 0; i < 100'000; ++i) {
    switch (random() % 8) {
      case 0:
        machine_.OnFailure(absl::UnavailableError("random"));
        break;
      case 1:
        clock_.Advance(milliseconds(random() % 9000));
        break;
      case 2:
        machine_.ExpectFrameEvery(milliseconds(1 + random() % 3000));
        break;
      case 3:
      case 4:
        Frame();
        break;
      default:
        clock_.Advance(milliseconds(random() % 100));
    }
    const SessionMachine::Decision decision = machine_.Decide(clock_.Now());
    for (const auto& transition : machine_.TakeTransitions()) {
      ASSERT_NE(transition.to, told) << "twice";
      told = transition.to;
    }
    ASSERT_EQ(told, machine_.state());
    if (decision.step == Step::kBegin) {
      ASSERT_FALSE(in_session);
      ASSERT_GE(clock_.Now() - ended_at, milliseconds(200));
    } else if (decision.step == Step::kEnd) {
      ASSERT_TRUE(in_session);
      ASSERT_FALSE(machine_.cause().ok());
      ended_at = clock_.Now();
    } else {
      ASSERT_GT(decision.until, clock_.Now());
      ASSERT_LE(decision.until - clock_.Now(), seconds(12)) << "four of 3 s";
      continue;
    }
    in_session = decision.step == Step::kBegin;
    ASSERT_EQ(machine_.state() != SourceState::kBackingOff, in_session);
  }
  EXPECT_GT(machine_.sessions(), 1000);
}

}  // namespace
}  // namespace millrace::ingest
