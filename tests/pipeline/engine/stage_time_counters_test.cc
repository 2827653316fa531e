#include "pipeline/engine/stage_time_counters.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using enum OperationKind;

TEST(StageTimeCountersTest, TellsPredictingFromLearning) {
  StageTimeCounters times(/*max_stages=*/3);
  times.Add({.kind = kForward, .stage = 1}, nanoseconds(5));
  times.Add({.kind = kForward, .stage = 1}, nanoseconds(2));
  times.Add({.kind = kBackward, .stage = 2}, nanoseconds(11));
  times.Add({.kind = kUpdate, .stage = 2}, nanoseconds(1));
  EXPECT_THAT(times.Of(2), ElementsAre(StageTime{.predicting = nanoseconds(7)},
                                       StageTime{.learning = nanoseconds(12)}));
}

TEST(StageTimeCountersTest, StagesAddAtTheSameTime) {
  StageTimeCounters times(/*max_stages=*/1);
  {
    const auto add = [&times](OperationKind kind) {
      for (int i = 0; i < 1000; ++i) times.Add({.kind = kind, .stage = 1}, nanoseconds(1));
    };
    const std::jthread forwards(add, kForward);
    const std::jthread more_forwards(add, kForward);
    const std::jthread backwards(add, kBackward);
  }
  EXPECT_THAT(times.Of(1), ElementsAre(StageTime{.predicting = nanoseconds(2000),
                                                 .learning = nanoseconds(1000)}));
}

}  // namespace
}  // namespace millrace::pipeline
