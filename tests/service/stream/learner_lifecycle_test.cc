#include "service/stream/learner_lifecycle.h"

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

class LearnerLifecycleTest : public ::testing::Test {
 protected:
  std::vector<LearnerState> reported_;
  LearnerLifecycle lifecycle_{"street", [this](LearnerState state, const absl::Status& /*cause*/) {
                                reported_.push_back(state);
                              }};
};

TEST_F(LearnerLifecycleTest, ReportsEachChangeThatIsNews) {
  lifecycle_.Begin();
  EXPECT_TRUE(lifecycle_.Change(LearnerState::kFrozen, kNews).ok());
  EXPECT_TRUE(lifecycle_.Change(LearnerState::kFrozen, [] { return false; }).ok());
  lifecycle_.End(LearnerLifecycle::Phase::kStopped);
  lifecycle_.AwaitEnd();
  EXPECT_EQ(lifecycle_.phase(), LearnerLifecycle::Phase::kStopped);
  EXPECT_EQ(lifecycle_.StateIn(LearnerState::kFrozen), LearnerState::kEnded);
  EXPECT_THAT(reported_,
              ElementsAre(LearnerState::kLearning, LearnerState::kFrozen, LearnerState::kEnded));
}

TEST_F(LearnerLifecycleTest, OnceOverItTakesNoOrderAndReportsNothing) {
  lifecycle_.End(LearnerLifecycle::Phase::kEnded);
  bool changed = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      lifecycle_.Change(LearnerState::kPaused, [&] { return changed = true; })));
  EXPECT_FALSE(changed);
  EXPECT_EQ(ReasonOf(lifecycle_.Alive()), "STREAM_ENDED");
  EXPECT_THAT(reported_, ElementsAre(LearnerState::kEnded));
}

TEST_F(LearnerLifecycleTest, TheFirstFailureIsKeptAndReportedAndItsEndIsNot) {
  lifecycle_.Fail(absl::InternalError("out of memory"));
  lifecycle_.Fail(absl::InternalError("again"));
  lifecycle_.End(LearnerLifecycle::Phase::kEnded);
  EXPECT_EQ(lifecycle_.status().message(), "stream 'street': out of memory");
  EXPECT_EQ(lifecycle_.StateIn(LearnerState::kLearning), LearnerState::kFailed);
  EXPECT_THAT(std::string(lifecycle_.Alive().message()), testing::HasSubstr("out of memory"));
  EXPECT_EQ(ReasonOf(lifecycle_.Alive()), "LEARNER_FAILED");
  EXPECT_THAT(reported_, ElementsAre(LearnerState::kFailed));
}

// Two clients give orders at the same time: the second one's must not be obeyed, and reported,
// while the first one's is still being reported.
TEST(LearnerLifecycleOrderTest, TheLastReportIsTheCurrentState) {
  constexpr int kRounds = 200;
  std::atomic<LearnerState> mode = LearnerState::kLearning;
  std::vector<LearnerState> reported;
  LearnerLifecycle* known = nullptr;
  std::jthread second;
  LearnerLifecycle lifecycle("street", [&](LearnerState state, const absl::Status& /*cause*/) {
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
    reported.push_back(state);
  });
  known = &lifecycle;
  ASSERT_TRUE(lifecycle
                  .Change(LearnerState::kFrozen,
                          [&] {
                            mode = LearnerState::kFrozen;
                            return true;
                          })
                  .ok());
  second.join();
  EXPECT_THAT(reported, ElementsAre(LearnerState::kFrozen, LearnerState::kLearning));
  EXPECT_EQ(reported.back(), mode);
}

}  // namespace
}  // namespace millrace::service
