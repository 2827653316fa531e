#include "pipeline/decisions/update_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using Kind = UpdatePolicyOptions::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The samples, of as many as there are figures, that are learned from.
std::vector<int> LearnedFrom(const UpdatePolicyOptions& options, std::vector<SampleFigures> figures,
                             int first_sample = 0) {
  UpdatePolicy policy(options, first_sample);
  std::vector<int> learned;
  for (int i = 0; i < static_cast<int>(figures.size()); ++i) {
    figures[i].sample = first_sample + i;
    if (policy.Learns(figures[i])) learned.push_back(first_sample + i);
  }
  return learned;
}

std::vector<SampleFigures> Still(int samples) { return std::vector<SampleFigures>(samples); }

TEST(UpdatePolicyTest, EveryNth) {
  EXPECT_THAT(LearnedFrom({.every = 1}, Still(4)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(LearnedFrom({.every = 3}, Still(8)), ElementsAre(0, 3, 6));
}

TEST(UpdatePolicyTest, MagLearnsWhereEnoughMoves) {
  const UpdatePolicyOptions options{.kind = Kind::kMag, .moving_share = 0.02};
  EXPECT_THAT(LearnedFrom(options, {{.motion = {.moving_share = 0.01}},
                                    {.motion = {.moving_share = 0.03}},
                                    {.motion = {.moving_share = 0.02}}}),
              ElementsAre(1));
}

TEST(UpdatePolicyTest, DiffLearnsWhereThePictureChanges) {
  const UpdatePolicyOptions options{.kind = Kind::kDiff, .difference = 0.001};
  EXPECT_THAT(LearnedFrom(options, {{.difference = 0.0005}, {.difference = 0.002}, {}}),
              ElementsAre(1));
}

// From (1, 0): 4 % more is nothing, 6 % more is; what counts is the last that was learned from.
TEST(UpdatePolicyTest, DivLearnsWhereTheMeanMotionTurns) {
  const UpdatePolicyOptions options{.kind = Kind::kDiv, .divergence = 0.05};
  EXPECT_THAT(LearnedFrom(options, {{.motion = {.mean_x = 1}},
                                    {.motion = {.mean_x = 1.04}},
                                    {.motion = {.mean_x = 1.06}},
                                    {.motion = {.mean_x = 1.06, .mean_y = 0.05}},
                                    {.motion = {.mean_x = 1.06, .mean_y = 0.06}}}),
              ElementsAre(0, 2, 4));
}

TEST(UpdatePolicyTest, WarmsUpWithEverySample) {
  const UpdatePolicyOptions options{.kind = Kind::kDiff, .warm_up = 3};
  EXPECT_THAT(LearnedFrom(options, Still(6)), ElementsAre(0, 1, 2));
}

// One that is set while a stream runs.
TEST(UpdatePolicyTest, CountsFromItsOwnFirstSample) {
  UpdatePolicyOptions options{.kind = Kind::kDiff, .warm_up = 3};
  EXPECT_THAT(LearnedFrom(options, Still(6), 5000), ElementsAre(5000, 5001, 5002));
  options = {.kind = Kind::kDiff, .force_after = 4};
  EXPECT_THAT(LearnedFrom(options, Still(9), 5000), ElementsAre(5003, 5007));
  options = {.kind = Kind::kDiv};
  EXPECT_THAT(LearnedFrom(options, Still(4), 5000), ElementsAre(5000)) << "the first is news";
}

TEST(UpdatePolicyTest, IsMadeToLearnAfterAWhile) {
  const UpdatePolicyOptions options{.kind = Kind::kDiff, .warm_up = 1, .force_after = 4};
  EXPECT_THAT(LearnedFrom(options, Still(10)), ElementsAre(0, 4, 8));
}

TEST(UpdatePolicyTest, KnowsItsNames) {
  for (const std::string& name : UpdatePolicyNames()) EXPECT_TRUE(UpdatePolicyKind(name).ok());
  EXPECT_THAT(UpdatePolicyKind("sometimes").status().message(),
              HasSubstr("use one of: every, mag, diff, div"));
}

TEST(UpdatePolicyTest, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(CheckUpdatePolicy({}).ok());
  EXPECT_THAT(CheckUpdatePolicy({.every = 0}).message(), HasSubstr("every is 0; it must be at"));
  EXPECT_THAT(CheckUpdatePolicy({.moving_share = 2}).message(), HasSubstr("from 0 to 1"));
  EXPECT_FALSE(CheckUpdatePolicy({.warm_up = -1}).ok());
}

}  // namespace
}  // namespace millrace::pipeline
