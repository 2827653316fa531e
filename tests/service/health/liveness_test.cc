#include "service/health/liveness.h"

#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

constexpr std::chrono::seconds kALook(1);

class LivenessTest : public ::testing::Test {
 protected:
  /// Looks once a second for `time`, each time after `meanwhile`, and returns the last verdict.
  template <typename Meanwhile>
  Liveness::Verdict LookFor(std::chrono::seconds time, const Meanwhile& meanwhile) {
    Liveness::Verdict verdict = liveness_.Judge();
    for (std::chrono::seconds past(0); past < time; past += kALook) {
      clock_.Advance(kALook);
      meanwhile();
      verdict = liveness_.Judge();
    }
    return verdict;
  }
  Liveness::Verdict LookFor(std::chrono::seconds time) {
    return LookFor(time, [] {});
  }

  static void SetInFlight(FakeCameraStream& stream, std::uint64_t frames) {
    stream.Set([frames](StreamSnapshot& snapshot) { snapshot.frames.in_flight = frames; });
  }

  FakeClock clock_;
  FakeCameraStream gate_{"gate"};  // With three frames in flight.
  FakeCameraStream yard_{"yard"};
  StreamRecord gate_record_{clock_, clock_.Now()};
  StreamRecord yard_record_{clock_, clock_.Now()};
  BorrowedStreams streams_ = {{gate_, gate_record_}, {yard_, yard_record_}};
  Liveness liveness_{streams_, clock_};
};

TEST_F(LivenessTest, IsAliveWithoutAnyStream) {
  const StreamRegistry none;
  Liveness liveness(none, clock_);
  EXPECT_TRUE(liveness.Judge().alive);
  clock_.Advance(2 * Liveness::kPatience);
  EXPECT_EQ(liveness.Judge().text, "ok\n");
}

TEST_F(LivenessTest, IsNotAliveWhileAPortTakesNoConnections) {
  liveness_.SetUnreachable("gRPC takes no connections\n");
  EXPECT_FALSE(liveness_.Judge().alive);
  EXPECT_EQ(liveness_.Judge().text, "gRPC takes no connections\n");
  liveness_.SetUnreachable("");
  EXPECT_TRUE(liveness_.Judge().alive);
}

TEST_F(LivenessTest, IsNotAliveWhileTheProcessMustBeStartedAgain) {
  std::string fault;
  Liveness liveness(streams_, clock_, [&] { return fault; });
  EXPECT_TRUE(liveness.Judge().alive);
  fault = "no camera's process can be started\n";
  EXPECT_FALSE(liveness.Judge().alive);
  EXPECT_EQ(liveness.Judge().text, fault);
}

TEST_F(LivenessTest, AStreamHangsOnceNothingHasBecomeOfItsFramesForAMinute) {
  SetInFlight(yard_, 0);
  EXPECT_TRUE(LookFor(Liveness::kPatience - kALook).alive);
  const Liveness::Verdict verdict = LookFor(kALook);
  EXPECT_FALSE(verdict.alive);
  EXPECT_EQ(verdict.text,
            "gate: hangs: its learner has made nothing of 3 frames in flight for 60 s\n");
}

TEST_F(LivenessTest, EachStreamThatHangsIsNamed) {
  EXPECT_EQ(LookFor(2 * Liveness::kPatience).text,
            "gate: hangs: its learner has made nothing of 3 frames in flight for 120 s\n"
            "yard: hangs: its learner has made nothing of 3 frames in flight for 120 s\n");
}

TEST_F(LivenessTest, OneFrameThatIsPredictedOrDroppedIsEnough) {
  SetInFlight(yard_, 0);
  int looks = 0;
  const auto now_and_then = [&] {
    if (++looks % 59 != 0) return;
    gate_.Set([predicted = looks % 2 == 0](StreamSnapshot& snapshot) {
      ++(predicted ? snapshot.frames.predicted
                   : snapshot.frames.dropped[static_cast<std::size_t>(DropReason::kGap)]);
    });
  };
  EXPECT_TRUE(LookFor(5 * Liveness::kPatience, now_and_then).alive);
}

TEST_F(LivenessTest, WhatTheQueueDropsIsNoSignOfLife) {
  SetInFlight(yard_, 0);
  const auto the_camera_goes_on = [this] {
    gate_.Set([](StreamSnapshot& snapshot) {
      ++snapshot.frames.received;
      ++snapshot.frames.dropped[static_cast<std::size_t>(DropReason::kQueueFull)];
    });
  };
  EXPECT_FALSE(LookFor(Liveness::kPatience, the_camera_goes_on).alive);
}

TEST_F(LivenessTest, AFrameMayWaitForTheNextOneWhileTheCameraIsAway) {
  for (FakeCameraStream* stream : {&gate_, &yard_}) {
    stream->Set(
        [](StreamSnapshot& snapshot) { snapshot.source.state = ingest::SourceState::kBackingOff; });
  }
  EXPECT_TRUE(LookFor(10 * Liveness::kPatience).alive);
}

TEST_F(LivenessTest, AFrameMayWaitForTheNextClientThatPushes) {
  for (FakeCameraStream* stream : {&gate_, &yard_}) {
    stream->Set(
        [](StreamSnapshot& snapshot) { snapshot.source.state = ingest::SourceState::kWaiting; });
  }
  EXPECT_TRUE(LookFor(10 * Liveness::kPatience).alive);
}

TEST_F(LivenessTest, AStreamThatGoesOnIsAliveAgain) {
  EXPECT_FALSE(LookFor(Liveness::kPatience).alive);
  for (FakeCameraStream* stream : {&gate_, &yard_}) {
    stream->Set([](StreamSnapshot& snapshot) { ++snapshot.frames.predicted; });
  }
  EXPECT_TRUE(liveness_.Judge().alive);
}

TEST_F(LivenessTest, AFrameThatComesAfterALongSilenceHasAMinuteOfItsOwn) {
  SetInFlight(gate_, 0);
  SetInFlight(yard_, 0);
  EXPECT_TRUE(LookFor(10 * Liveness::kPatience).alive);
  SetInFlight(gate_, 1);
  EXPECT_TRUE(LookFor(Liveness::kPatience - 2 * kALook).alive);
  EXPECT_FALSE(LookFor(2 * kALook).alive);
}

TEST_F(LivenessTest, AnotherLifeOfAStreamBeginsAnew) {
  SetInFlight(yard_, 0);
  EXPECT_TRUE(LookFor(Liveness::kPatience - kALook).alive);
  ASSERT_TRUE(streams_.Replace(Borrowed(gate_, gate_record_)).ok());
  EXPECT_TRUE(LookFor(Liveness::kPatience - kALook).alive);
  EXPECT_FALSE(LookFor(kALook).alive);
}

TEST_F(LivenessTest, AGpuThatFailedOrIsFullWantsAnotherProcess) {
  yard_.Set(
      [](StreamSnapshot& snapshot) { snapshot.learner = absl::AbortedError("the GPU is full"); });
  const Liveness::Verdict verdict = liveness_.Judge();
  EXPECT_FALSE(verdict.alive);
  EXPECT_EQ(verdict.text, "yard: the learner failed: the GPU is full\n");
}

TEST_F(LivenessTest, AModelThatFailedOtherwiseWantsNone) {
  for (const absl::Status& failure :
       {absl::InternalError("a bug"), absl::ResourceExhaustedError("no space on the disk")}) {
    yard_.Set([&](StreamSnapshot& snapshot) { snapshot.learner = failure; });
    EXPECT_TRUE(liveness_.Judge().alive) << failure;
  }
}

}  // namespace
}  // namespace millrace::service
