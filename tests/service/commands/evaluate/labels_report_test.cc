#include "service/commands/evaluate/labels_report.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "service/terminal/mean_and_deviation.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

pipeline::LabelTrialResult Trial(double accuracy, double loss = 0.5) {
  return {.samples = 100,
          .test = {.samples = 100, .accuracy = accuracy, .loss = loss},
          .prequential_accuracy = 0.5,
          .seconds = 2};
}

std::vector<LabelsRow> Rows() {
  return {{.schedule = "sequential", .stages = 1, .window = 4, .runs = {Trial(0.9), Trial(0.8)}},
          {.schedule = "stale", .stages = 4, .window = 4, .runs = {Trial(0.85), Trial(0.76)}},
          {.schedule = "stale", .stages = 4, .window = 8, .runs = {Trial(0.7), Trial(0.7)}}};
}

TEST(LabelsReportTest, MeansAndDeviationsAreThoseOfASample) {
  EXPECT_DOUBLE_EQ(MeanOf({1, 2, 3, 4}).mean, 2.5);
  EXPECT_NEAR(MeanOf({1, 2, 3, 4}).deviation, 1.2909944, 1e-7);
  EXPECT_EQ(MeanOf({7}).deviation, 0);
}

// 85 - 90 and 76 - 80: seed by seed, so that what a seed changes for all does not count.
TEST(LabelsReportTest, DifferencesAreToTheFirstRowOfTheWindowSeedBySeed) {
  const std::string table = LabelsTable(Rows());
  EXPECT_THAT(table, HasSubstr("85.00 (7.07)"));
  EXPECT_THAT(table, HasSubstr("-4.50 (0.71)"));
  const auto json = nlohmann::json::parse(LabelsJson({}, Rows()));
  EXPECT_DOUBLE_EQ(json["rows"][1]["difference"]["mean"].get<double>(), -4.5);
  EXPECT_EQ(json["rows"][2]["difference"]["mean"].get<double>(), 0) << "another window";
}

TEST(LabelsReportTest, LossThatIsInfiniteIsNoNumberInJson) {
  std::vector<LabelsRow> rows = {
      {.schedule = "stale", .runs = {Trial(0.1, std::numeric_limits<double>::infinity())}}};
  const auto json = nlohmann::json::parse(LabelsJson({}, rows));
  EXPECT_TRUE(json["rows"][0]["runs"][0]["test"]["loss"].is_null());
}

}  // namespace
}  // namespace millrace::service
