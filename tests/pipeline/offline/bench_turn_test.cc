#include "pipeline/offline/bench_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Lt;
using ::testing::Optional;

TEST(TurnLogTest, CountsOnlyWorkBetweenTheCountedPredictions) {
  TurnLog log;
  const auto before = TurnLog::Time::clock::now();
  for (int i = 0; i < 3; ++i) {
    log.Admitted();
    log.Predicted();
  }
  const auto after = TurnLog::Time::clock::now();
  log.Worked({before - std::chrono::hours(1), after + std::chrono::hours(1)});

  const BenchTurn turn = log.Figures(/*first=*/1, /*count=*/2, /*devices=*/2);
  EXPECT_GT(turn.samples_per_second, 0);
  EXPECT_GE(turn.delay_ms, 0);
  EXPECT_THAT(turn.idle, Optional(AllOf(Ge(0.499), Lt(0.501))));  // One of two devices worked.
}

TEST(TurnLogTest, WithoutDevicesNothingIsIdle) {
  TurnLog log;
  for (int i = 0; i < 2; ++i) {
    log.Admitted();
    log.Predicted();
  }
  EXPECT_FALSE(log.Figures(1, 1, /*devices=*/0).idle.has_value());
}

}  // namespace
}  // namespace millrace::pipeline
