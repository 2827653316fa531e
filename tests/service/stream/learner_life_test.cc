#include "service/stream/learner_life.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_reason.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;

constexpr auto kNews = [] { return true; };

class LearnerLifeTest : public ::testing::Test {
 protected:
  std::vector<LearnerState> told_;
  LearnerLife life_{"street", [this](LearnerState state, const absl::Status& /*cause*/) {
                      told_.push_back(state);
                    }};
};

TEST_F(LearnerLifeTest, TellsEachChangeThatIsNews) {
  life_.Begin();
  EXPECT_TRUE(life_.Change(LearnerState::kFrozen, kNews).ok());
  EXPECT_TRUE(life_.Change(LearnerState::kFrozen, [] { return false; }).ok());
  life_.End(LearnerLife::Phase::kStopped);
  life_.AwaitEnd();
  EXPECT_EQ(life_.phase(), LearnerLife::Phase::kStopped);
  EXPECT_EQ(life_.StateIn(LearnerState::kFrozen), LearnerState::kEnded);
  EXPECT_THAT(told_,
              ElementsAre(LearnerState::kLearning, LearnerState::kFrozen, LearnerState::kEnded));
}

TEST_F(LearnerLifeTest, OnceOverItTakesNoOrderAndTellsNothing) {
  life_.End(LearnerLife::Phase::kEnded);
  bool changed = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      life_.Change(LearnerState::kPaused, [&] { return changed = true; })));
  EXPECT_FALSE(changed);
  EXPECT_EQ(ReasonOf(life_.Alive()), "STREAM_ENDED");
  EXPECT_THAT(told_, ElementsAre(LearnerState::kEnded));
}

TEST_F(LearnerLifeTest, TheFirstFailureIsKeptAndToldAndItsEndIsNot) {
  life_.Fail(absl::InternalError("out of memory"));
  life_.Fail(absl::InternalError("again"));
  life_.End(LearnerLife::Phase::kEnded);
  EXPECT_EQ(life_.status().message(), "stream 'street': out of memory");
  EXPECT_EQ(life_.StateIn(LearnerState::kLearning), LearnerState::kFailed);
  EXPECT_THAT(std::string(life_.Alive().message()), testing::HasSubstr("out of memory"));
  EXPECT_EQ(ReasonOf(life_.Alive()), "LEARNER_FAILED");
  EXPECT_THAT(told_, ElementsAre(LearnerState::kFailed));
}

// Two clients give orders at the same time: the second one's must not be obeyed, and told, while
// the first one's is still being told.
TEST(LearnerLifeOrderTest, WhatIsToldLastIsWhatHolds) {
  constexpr int kRounds = 200;
  std::atomic<LearnerState> mode = LearnerState::kLearning;
  std::vector<LearnerState> told;
  LearnerLife* known = nullptr;
  std::jthread second;
  LearnerLife life("street", [&](LearnerState state, const absl::Status& /*cause*/) {
    if (state == LearnerState::kFrozen) {
      second = std::jthread([&] {
        (void)known->Change(LearnerState::kLearning, [&] {
          mode = LearnerState::kLearning;
          return true;
        });
      });
      // Time for the other to come in between, if it could.
      for (int i = 0; i < kRounds && mode == LearnerState::kFrozen; ++i) std::this_thread::yield();
    }
    told.push_back(state);
  });
  known = &life;
  ASSERT_TRUE(life.Change(LearnerState::kFrozen,
                          [&] {
                            mode = LearnerState::kFrozen;
                            return true;
                          })
                  .ok());
  second.join();
  EXPECT_THAT(told, ElementsAre(LearnerState::kFrozen, LearnerState::kLearning));
  EXPECT_EQ(told.back(), mode);
}

}  // namespace
}  // namespace millrace::service
