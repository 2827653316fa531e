#include "service/stream/checkpoint_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/fake_learner.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// No test here has a second thread: a waiting request needs no thread.
class CheckpointRequestsTest : public testing::Test {
 protected:
  /// Asks, and adds the result to `results_`.
  void Ask(const std::string& who, const std::stop_token& stop = {}) {
    requests_.Ask(learner_, stop, [this, who](const absl::StatusOr<std::string>& name) {
      results_.push_back(who + ": " +
                         (name.ok() ? *name : absl::StatusCodeToString(name.status().code())));
    });
  }
  void Written(std::int64_t answers, const absl::Status& status = absl::OkStatus()) {
    requests_.OnWritten({.status = status, .name = "c", .answers = answers});
  }

  FakeLearner learner_{{}, [](const pipeline::ModelPrediction&) {}};
  CheckpointRequests requests_{"street"};
  std::vector<std::string> results_;
};

TEST_F(CheckpointRequestsTest, AllWhoAskedBeforeItWasBegunAreTold) {
  Ask("a");
  Ask("b");
  Ask("c");
  Written(0);
  EXPECT_THAT(results_, IsEmpty()) << "it was begun before anybody asked, and is not kept";
  Written(2);
  EXPECT_THAT(results_, ElementsAre("a: c", "b: c"));
  Written(3, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(results_.back(), "c: RESOURCE_EXHAUSTED");
}

TEST_F(CheckpointRequestsTest, OneThatIsWrittenAtOnceIsNotMissed) {
  Written(1);  // Before Ask() knows its number.
  Ask("a");
  EXPECT_THAT(results_, ElementsAre("a: c"));
}

TEST_F(CheckpointRequestsTest, WhoStopsWaitingIsToldAndNobodyElse) {
  std::stop_source stop;
  Ask("a", stop.get_token());
  Ask("b");
  stop.request_stop();
  EXPECT_THAT(results_, ElementsAre("a: CANCELLED"));
  Written(2);
  EXPECT_THAT(results_, ElementsAre("a: CANCELLED", "b: c"));
  Ask("late", stop.get_token());
  EXPECT_EQ(results_.back(), "late: CANCELLED");
}

TEST_F(CheckpointRequestsTest, WhoAsksOnceNoneWillComeIsToldAtOnce) {
  Ask("a");
  requests_.GiveUp(absl::FailedPreconditionError("paused"));
  EXPECT_THAT(results_, ElementsAre("a: FAILED_PRECONDITION"));
  Ask("b");
  requests_.Close(absl::CancelledError("ended"));
  Ask("c");
  EXPECT_THAT(results_, ElementsAre("a: FAILED_PRECONDITION", "b: CANCELLED", "c: CANCELLED"));
}

TEST_F(CheckpointRequestsTest, SoManyMayWaitAndNoMore) {
  for (int i = 0; i < 64; ++i) Ask("a");
  EXPECT_THAT(results_, IsEmpty());
  Ask("b");
  EXPECT_THAT(results_, ElementsAre("b: UNAVAILABLE"));
  Written(64);
  EXPECT_EQ(results_.size(), 65u);
}

TEST_F(CheckpointRequestsTest, OneWhoIsToldMayAskAgain) {
  requests_.Ask(learner_, {}, [this](const auto&) { Ask("again"); });
  Written(1);
  EXPECT_EQ(learner_.checkpoints_asked_for, 2);
  Written(2);
  EXPECT_THAT(results_, ElementsAre("again: c"));
}

}  // namespace
}  // namespace millrace::service
