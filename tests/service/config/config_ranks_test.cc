// Stages on other hosts: the section `ranks` and the key `stages_on`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "service/config/config.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kRanks[] = "ranks: {listen: '10.0.0.1:29500', secret_file: s}\n";

absl::StatusOr<Config> Parse(const std::string& ranks, const std::string& schedule,
                             const std::string& model = "{}") {
  return ParseConfig(
      absl::StrCat("version: 1\n", ranks, "streams: [{name: a, source: {uri: a.avi}, model: ",
                   model == "{}" ? "{network: refine}" : model, ", schedule: ", schedule, "}]\n"),
      "c", "/etc/millrace");
}

TEST(ConfigRanksTest, StagesHaveHosts) {
  const auto config = Parse(kRanks, "{kind: partime, stages: 3, stages_on: [1, 1, 0]}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ranks.listen, "10.0.0.1:29500");
  EXPECT_EQ(config->ranks.secret_file, "/etc/millrace/s");
  EXPECT_THAT(config->streams[0].learner.rank_of_stage, ElementsAre(1, 1, 0));
}

TEST(ConfigRanksTest, TasksWithLabelsAndOwnNetworksHaveThemToo) {
  for (const char* model : {"{network: mine.pt}", "{task: classification, outputs: 3}",
                            "{task: regression, outputs: 1, network: mine.pt}"}) {
    const auto config = Parse(kRanks, "{kind: partime, stages: 2, stages_on: [1, 0]}", model);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_THAT(config->streams[0].learner.rank_of_stage, ElementsAre(1, 0));
  }
}

TEST(ConfigRanksTest, WithoutTheKeyAllStagesAreHere) {
  const auto config = Parse(kRanks, "{kind: partime, stages: 2}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->streams[0].learner.rank_of_stage, IsEmpty());
}

TEST(ConfigRanksTest, WithTheKindAutoTheEntriesAreTheStages) {
  const auto config = Parse(kRanks, "{stages_on: [2, 1, 0]}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams[0].learner.schedule, "auto");
  EXPECT_THAT(config->streams[0].learner.rank_of_stage, ElementsAre(2, 1, 0));
}

TEST(ConfigRanksTest, WhatDoesNotFitIsRefusedWithItsPlace) {
  const auto refusal = [](const std::string& ranks, const std::string& schedule,
                          const std::string& model = "{}") {
    const auto config = Parse(ranks, schedule, model);
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(config.status().message());
  };
  const std::string two = "{kind: partime, stages: 2, stages_on: [1, 0]}";
  EXPECT_THAT(refusal("", two), HasSubstr("'stages_on' needs the section `ranks`"));
  EXPECT_THAT(refusal(kRanks, "{kind: local, stages: 2, stages_on: [1, 0]}", "{network: levels}"),
              HasSubstr("'stages_on' cannot be given with the kind local"));
  EXPECT_THAT(refusal(kRanks, "{kind: partime, stages: 3, stages_on: [1, 0]}"),
              HasSubstr("'stages_on' has 2 entries; 3 stages need 3"));
  for (const char* ranks : {"[0, 1]", "[1, 1]", "[2, 0]", "[0, 0, 1]"}) {
    EXPECT_THAT(refusal(kRanks, absl::StrCat("{kind: partime, stages: 2, stages_on: ", ranks, "}")),
                HasSubstr("'stages_on' "))
        << ranks;
  }
  EXPECT_THAT(refusal(kRanks, "{kind: partime, stages: 2, stages_on: [1, 0], devices: [cuda]}"),
              HasSubstr("'stages_on' is for stages on the CPU"));
  EXPECT_THAT(refusal("ranks: {listen: a}\n", two), HasSubstr("secret_file"));
  EXPECT_THAT(refusal("ranks: {secret_file: a}\n", two), HasSubstr("listen"));
}

}  // namespace
}  // namespace millrace::service
