#include "pipeline/flow/flow_options.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Bad {
  LearnerOptions options;
  FlowTaskOptions task;
  const char* message;
};

void ExpectRefused(const std::vector<Bad>& all) {
  for (const Bad& bad : all) {
    const absl::Status status = CheckFlowOptions(bad.options, bad.task);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad.message << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
}

// What is wrong with the sizes, schedules and cuts is tested where they are used: FlowLearnerTest.
TEST(FlowOptionsTest, DefaultsAreFine) {
  const absl::Status status = CheckFlowOptions({}, {});
  EXPECT_TRUE(status.ok()) << status;
}

TEST(FlowOptionsTest, CountsOfSafeLearningAreAtLeastOne) {
  ExpectRefused({
      {{.copy_every = 0}, {}, "copy_every is 0; it must be at least 1"},
      {{},
       {.learning = {.events = {.frozen_after = 0}}},
       "frozen_after is 0; it must be at least 1"},
      {{}, {.learning = {.divergence = {.window = 0}}}, "window is 0; it must be at least 1"},
      {{},
       {.learning = {.divergence = {.max_refused = 0}}},
       "max_refused is 0; it must be at least 1"},
      {{}, {.learning = {.divergence = {.window = -3}}}, "window is -3; it must be at least 1"},
  });
}

TEST(FlowOptionsTest, PoliciesOutOfRangeAreRefused) {
  ExpectRefused({
      {{}, {.learning = {.policy = {.every = 0}}}, "every is 0; it must be at least 1"},
      {{},
       {.learning = {.policy = {.moving_share = 1.5}}},
       "moving_share is 1.5; it must be from 0"},
      {{},
       {.learning = {.policy = {.moving_pixels = -1}}},
       "moving_pixels is -1; it must be at least"},
      {{},
       {.learning = {.policy = {.difference = -0.5}}},
       "difference is -0.5; it must be from 0 to"},
      {{}, {.learning = {.policy = {.divergence = -1}}}, "divergence is -1; it must be at least 0"},
      {{}, {.learning = {.policy = {.warm_up = -1}}}, "warm_up is -1; it must be at least 0"},
      {{},
       {.learning = {.policy = {.force_after = -1}}},
       "force_after is -1; it must be at least 0"},
  });
}

TEST(FlowOptionsTest, PoliciesOfNoNumberAreRefused) {
  ExpectRefused({
      {{}, {.learning = {.policy = {.moving_share = kNaN}}}, "moving_share is nan"},
      {{}, {.learning = {.policy = {.moving_pixels = kNaN}}}, "moving_pixels is nan"},
      {{}, {.learning = {.policy = {.difference = kNaN}}}, "difference is nan"},
      {{}, {.learning = {.policy = {.divergence = kNaN}}}, "divergence is nan"},
  });
}

TEST(FlowOptionsTest, ExtremesThatAreAllowedAreAllowed) {
  for (const LearningOptions& learning :
       {LearningOptions{.policy = {.moving_share = 0, .moving_pixels = 0, .difference = 0}},
        LearningOptions{.policy = {.moving_share = 1, .difference = 1, .divergence = 0}},
        LearningOptions{.events = {.frozen_after = 1},
        .divergence = {.window = 1, .max_refused = 1}}}) {
    const absl::Status status = CheckFlowOptions({.copy_every = 1}, {.learning = learning});
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace millrace::pipeline
