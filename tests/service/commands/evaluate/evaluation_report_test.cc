// The report of an evaluation: its values by name, tables, JSON, plots.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/regular_file.h"
#include "service/commands/evaluate/evaluation_json.h"
#include "service/commands/evaluate/evaluation_metrics.h"
#include "service/commands/evaluate/evaluation_plots.h"
#include "service/commands/evaluate/evaluation_table.h"
#include "service/commands/evaluate/gnuplot.h"
#include "service/terminal/mean_and_deviation.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::FlowEvaluation;
using pipeline::FlowEvaluationOptions;
using pipeline::ScoredStream;
using pipeline::StreamScores;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Scores of a loss, and of an error where the motion is known.
StreamScores ScoresOf(double loss, std::optional<double> error) {
  StreamScores scores;
  scores.loss = {.predictions = 10, .learned_from = 5, .loss = loss, .loss_no_motion = 0.5};
  if (error) scores.flow.error.Add(*error);
  return scores;
}

ScoredStream StreamOf(double loss, std::optional<double> error) {
  ScoredStream stream{.whole = ScoresOf(loss, error), .windows = {}};
  for (int i = 0; i < 3; ++i) {
    stream.windows.push_back(
        {.start = std::chrono::seconds(60 * i), .scores = ScoresOf(loss / (i + 1), error)});
  }
  return stream;
}

struct Made {
  FlowEvaluationOptions options;
  FlowEvaluation evaluation;
};

FlowEvaluation::Run MadeRun(pipeline::FlowRunName name, double loss, std::optional<double> error) {
  const bool has_camera = name.camera_rate > 0;
  FlowEvaluation::Run run;
  run.name = std::move(name);
  run.result.pairs = 10;
  run.result.dropped = has_camera ? 2 : 0;
  run.result.model = StreamOf(loss, error);
  if (has_camera) run.result.streaming = StreamOf(loss + 0.01, error);
  run.result.frozen = {{.name = "first",
                        .scores = ScoresOf(loss, error),
                        .initial = ScoresOf(0.5, error),
                        .right_after = ScoresOf(loss + 0.05, error)},
                       {.name = "elsewhere",
                        .scores = ScoresOf(loss, error),
                        .other = true,
                        .initial = ScoresOf(0.4, error)}};
  run.result.updates = {7};
  return run;
}

// Two learners with two seeds each and a reference; with rates, also behind a camera.
Made MadeEvaluation(std::optional<double> error, const std::vector<double>& rates = {}) {
  Made made;
  made.options.clips = {{.name = "street's \xff clip", .width = 64, .height = 48, .open = {}}};
  made.evaluation.pairs = {10};
  made.evaluation.references.push_back({"none", 0, StreamOf(0.5, error)});
  double loss = 0.1;
  for (const char* schedule : {"sequential", "partime"}) {
    for (const double rate : rates.empty() ? std::vector<double>{0} : rates) {
      for (const std::uint64_t seed : {1, 2}) {
        made.evaluation.runs.push_back(
            MadeRun({.network = "flow", .schedule = schedule, .camera_rate = rate, .seed = seed},
                    loss, error));
        loss += 0.1;
      }
    }
  }
  return made;
}

TEST(EvaluationReportTest, EachMetricHasANameOfItsOwnAndIsFoundByIt) {
  std::set<std::string_view> names;
  for (const EvaluationMetric& metric : EvaluationMetrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_EQ(&EvaluationMetricNamed(metric.name), &metric);
    EXPECT_FALSE(metric.head.empty());
    EXPECT_FALSE(metric.axis.empty());
  }
}

std::vector<pipeline::StageDescription> StagesOf(const std::vector<int>& staleness) {
  std::vector<pipeline::StageDescription> stages(staleness.size());
  for (std::size_t i = 0; i < stages.size(); ++i) stages[i].staleness = staleness[i];
  return stages;
}

// Each schedule's mean over its seeds, and how late its gradients are.
TEST(EvaluationReportTest, TellsHowFarTheUpdatesOfAStageAgree) {
  Made made = MadeEvaluation(std::nullopt);
  EXPECT_THAT(EvaluationTables(made.evaluation), Not(HasSubstr("cosine")));
  for (FlowEvaluation::Run& run : made.evaluation.runs) {
    const double of_seed = run.name.seed == 1 ? 0.1 : 0.2;
    run.result.update_cosines = {of_seed};
    run.result.stages = StagesOf({0});
    if (run.name.schedule == "sequential") continue;
    run.result.update_cosines = {of_seed, std::nullopt, -0.5};
    run.result.stages = StagesOf({2, 1, 0});
  }
  const std::string tables = EvaluationTables(made.evaluation);
  const std::string table = tables.substr(tables.find("By stage: mean cosine"));
  EXPECT_THAT(table, HasSubstr("stage 3"));
  EXPECT_THAT(table, HasSubstr("0.150 ±0.071, 0"));
  EXPECT_THAT(table, HasSubstr("0.150 ±0.071, 2"));
  EXPECT_THAT(table, HasSubstr("-, 1"));
  EXPECT_THAT(table, HasSubstr("-0.500 ±0.000, 0"));
  const json runs =
      json::parse(EvaluationJson(made.options, made.evaluation, "evaluate")).at("runs");
  EXPECT_EQ(runs.at(2).at("update_cosines"), json({0.1, nullptr, -0.5}));
  EXPECT_EQ(runs.at(2).at("staleness"), json({2, 1, 0}));
}

TEST(EvaluationReportTest, WhatIsNotKnownIsNothing) {
  const StreamScores nothing;
  EXPECT_EQ(EvaluationMetricNamed("loss_ratio").of(nothing), std::nullopt);
  EXPECT_EQ(EvaluationMetricNamed("learned_share").of(nothing), std::nullopt);
  EXPECT_EQ(EvaluationMetricNamed("gain").of(nothing), std::nullopt);
  EXPECT_EQ(EvaluationMetricNamed("epe").of(nothing), std::nullopt);
  EXPECT_EQ(EvaluationMetricNamed("motion_f1").of(nothing), std::nullopt);
  EXPECT_EQ(EvaluationMetricNamed("epe").of(ScoresOf(1, 2.5)), 2.5);
  EXPECT_EQ(EvaluationMetricNamed("loss_ratio").of(ScoresOf(0.25, {})), 0.5);
  EXPECT_EQ(EvaluationMetricNamed("learned_share").of(ScoresOf(0.25, {})), 0.5);
}

TEST(EvaluationReportTest, ASpreadIsTheMeanAndTheDeviationOfASample) {
  const std::vector<double> one = {3};
  EXPECT_EQ(MeanOf(one).mean, 3);
  EXPECT_EQ(MeanOf(one).deviation, 0);
  const std::vector<double> some = {2, 4, 9};
  EXPECT_DOUBLE_EQ(MeanOf(some).mean, 5);
  EXPECT_DOUBLE_EQ(MeanOf(some).deviation, std::sqrt((9.0 + 1 + 16) / 2));
}

TEST(EvaluationReportTest, RunsThatDifferInTheSeedAloneAreOneGroup) {
  const Made made = MadeEvaluation(1.0, {10, 20});
  const std::vector<EvaluationGroup> groups = GroupsOf(made.evaluation);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].name, "flow sequential at 10/s");
  EXPECT_EQ(groups[3].name, "flow partime at 20/s");
  for (const EvaluationGroup& group : groups) EXPECT_EQ(group.runs.size(), 2u);
}

TEST(EvaluationReportTest, TablesLeaveOutWhatNobodyKnows) {
  const std::string without = EvaluationTables(MadeEvaluation({}).evaluation);
  EXPECT_THAT(without, HasSubstr("loss ratio"));
  EXPECT_THAT(without, Not(HasSubstr("EPE")));
  EXPECT_THAT(without, Not(HasSubstr("F1")));
  EXPECT_THAT(without, Not(HasSubstr("gain")));
  EXPECT_THAT(without, Not(HasSubstr("dropped")));
  EXPECT_THAT(without, Not(HasSubstr("At every instant")));
  const std::string with = EvaluationTables(MadeEvaluation(2.5).evaluation);
  EXPECT_THAT(with, HasSubstr("EPE px"));
  EXPECT_THAT(with, HasSubstr("2.500"));
}

TEST(EvaluationReportTest, TablesHaveMeansOverSeedsWithTheirDeviation) {
  const std::string tables = EvaluationTables(MadeEvaluation({}).evaluation);
  // Losses of 0.1 and 0.2, of 0.3 and 0.4, over 0.5.
  EXPECT_THAT(tables, HasSubstr("flow sequential  0.300 ±0.141\n"));
  EXPECT_THAT(tables, HasSubstr("flow partime     0.700 ±0.141\n"));
  EXPECT_THAT(tables, HasSubstr("none                    1.000\n")) << "one clip has no deviation";
  EXPECT_THAT(tables, HasSubstr("no longer learning, on the first window\n"));
  EXPECT_THAT(tables, HasSubstr("no longer learning, on the first window of elsewhere\n"));
}

TEST(EvaluationReportTest, WhatWasForgottenAndWhatCarriesOverHaveATableOfTheirOwn) {
  Made made = MadeEvaluation({});
  const std::string tables = EvaluationTables(made.evaluation);
  EXPECT_THAT(tables, HasSubstr("forgetting  transfer to elsewhere\n"));
  // Losses of 0.1 and 0.2 over 0.5, 0.05 more right after, 0.4 to begin with.
  EXPECT_THAT(tables, HasSubstr("flow sequential  -0.100 ±0.000"));
  EXPECT_THAT(tables, HasSubstr("0.500 ±0.141\n"));
  for (FlowEvaluation::Run& run : made.evaluation.runs) run.result.frozen.clear();
  EXPECT_THAT(EvaluationTables(made.evaluation), Not(HasSubstr("forgetting")));
}

TEST(EvaluationReportTest, JsonHasEachTestBesideThoseOfOtherWeights) {
  const Made made = MadeEvaluation({});
  const json all = json::parse(EvaluationJson(made.options, made.evaluation, "millrace"));
  const json& first = all["runs"][0]["frozen"][0];
  EXPECT_EQ(first["initial"]["loss"], 0.5);
  EXPECT_DOUBLE_EQ(first["right_after"]["loss"], 0.15);
  EXPECT_NEAR(first["forgetting"], -0.1, 1e-12);
  EXPECT_FALSE(first.contains("transfer")) << "it was learned from";
  const json& elsewhere = all["runs"][0]["frozen"][1];
  EXPECT_NEAR(elsewhere["transfer"], 0.6, 1e-12);
  EXPECT_FALSE(elsewhere.contains("forgetting"));
}

TEST(EvaluationReportTest, BehindACameraTablesSayWhatWasDroppedAndWhatClientsHad) {
  const std::string tables = EvaluationTables(MadeEvaluation({}, {10, 20}).evaluation);
  EXPECT_THAT(tables, HasSubstr("20.0 %"));
  EXPECT_THAT(tables, HasSubstr("At every instant"));
  EXPECT_THAT(tables, HasSubstr("flow partime at 20/s"));
}

TEST(EvaluationReportTest, JsonHasEveryMetricOfEveryWindowByName) {
  Made made = MadeEvaluation(2.5, {10, 20});
  StreamScores& scores = made.evaluation.runs[0].result.model.windows[1].scores;
  for (const auto mean : {&pipeline::FlowScores::error_visible, &pipeline::FlowScores::error_hidden,
                          &pipeline::FlowScores::error_slow, &pipeline::FlowScores::error_medium,
                          &pipeline::FlowScores::error_fast, &pipeline::FlowScores::outlier,
                          &pipeline::FlowScores::angle, &pipeline::FlowScores::ause,
                          &pipeline::FlowScores::uncertainty, &pipeline::FlowScores::reconstructed,
                          &pipeline::FlowScores::reconstructed_closely}) {
    (scores.flow.*mean).Add(0.75);
  }
  scores.flow.motion.both = 1;
  scores.loss.loss_reference = 0.2;
  const json all = json::parse(EvaluationJson(made.options, made.evaluation, "millrace ..."));
  const json& window = all["runs"][0]["model"]["windows"][1];
  for (const EvaluationMetric& metric : EvaluationMetrics()) {
    ASSERT_TRUE(window.contains(std::string(metric.name))) << metric.name;
    EXPECT_EQ(window[std::string(metric.name)], *metric.of(scores)) << metric.name;
  }
  EXPECT_EQ(window["start_s"], 60);
  EXPECT_EQ(all["command"], "millrace ...");
  EXPECT_EQ(all["clips"][0]["pairs"], 10);
  EXPECT_EQ(all["references"][0]["name"], "none");
  EXPECT_FALSE(all["references"][0]["whole"].contains("motion_f1")) << "nobody knows";
  ASSERT_EQ(all["runs"].size(), 8u);
  const json& run = all["runs"][5];
  EXPECT_EQ(run["schedule"], "partime");
  EXPECT_EQ(run["camera_rate"], 10);
  EXPECT_EQ(run["seed"], 2);
  EXPECT_EQ(run["dropped"], 2);
  EXPECT_EQ(run["streaming"]["windows"].size(), 3u);
  EXPECT_EQ(run["frozen"][1]["on"], "elsewhere");
}

TEST(EvaluationReportTest, TheTaskIsSaid) {
  Made made = MadeEvaluation({});
  EXPECT_THAT(EvaluationTables(made.evaluation), HasSubstr("each pair by its own prediction"));
  EXPECT_EQ(json::parse(EvaluationJson(made.options, made.evaluation, ""))["task"], "flow");
  made.options.task.next_frame = made.evaluation.next_frame = true;
  EXPECT_THAT(EvaluationTables(made.evaluation), HasSubstr("as the two before foretold it"));
  EXPECT_EQ(json::parse(EvaluationJson(made.options, made.evaluation, ""))["task"], "next_frame");
}

TEST(EvaluationReportTest, JsonSaysWhereHybridBecameSequentialAndNothingOfOthers) {
  Made made = MadeEvaluation({});
  made.evaluation.runs[1].switch_at = 500;
  const json all = json::parse(EvaluationJson(made.options, made.evaluation, "millrace"));
  EXPECT_FALSE(all["runs"][0].contains("switch_at"));
  EXPECT_EQ(all["runs"][1]["switch_at"], 500);
}

TEST(EvaluationReportTest, JsonIsValidWhateverFilesAreNamedAndNumbersAre) {
  Made made = MadeEvaluation({});
  made.evaluation.runs[0].result.model.whole.loss.loss = std::nan("");
  const std::string text = EvaluationJson(made.options, made.evaluation, "millrace \xfe");
  EXPECT_EQ(text.back(), '\n');
  const json all = json::parse(text);
  EXPECT_TRUE(all["runs"][0]["model"]["whole"]["loss"].is_null());
}

// Only figures against the truth are in doubt.
TEST(EvaluationReportTest, ThePseudoStandsBesideEachFigureOfPseudoTruth) {
  Made made = MadeEvaluation(1.5, {10, 20});
  made.evaluation.pseudo_truth = true;
  const std::string tables = EvaluationTables(made.evaluation);
  EXPECT_THAT(tables, HasSubstr("pseudo EPE px"));
  EXPECT_THAT(tables, Not(HasSubstr("  EPE px")));
  EXPECT_THAT(tables, Not(HasSubstr("pseudo loss ratio")));
  const json all = json::parse(EvaluationJson(made.options, made.evaluation, "millrace"));
  EXPECT_EQ(all["truth"], "pseudo");
  for (const json& scores : {all["references"][0]["whole"], all["runs"][0]["model"]["windows"][1],
                             all["runs"][0]["frozen"][0]["initial"]}) {
    EXPECT_EQ(scores["pseudo_epe"], 1.5);
    EXPECT_FALSE(scores.contains("epe"));
    EXPECT_TRUE(scores.contains("loss_ratio"));
  }
  for (const EvaluationPlot& plot : EvaluationPlots(made.evaluation)) {
    const bool of_error = plot.name.starts_with("epe");
    EXPECT_EQ(plot.commands.find("pseudo end-point error") != std::string::npos, of_error);
  }
}

TEST(EvaluationReportTest, AListOfPairsHasALineForEachAndWhatTheyAreOfDis) {
  std::vector<EvaluatedPairs> all;
  for (const double error : {1.0, 3.0}) {
    Made made = MadeEvaluation(error);
    made.evaluation.references.push_back({"dis", 0, StreamOf(0.5, 4 - error)});
    all.push_back({"pair " + std::to_string(static_cast<int>(error)), made.options,
                   std::move(made.evaluation)});
  }
  const std::string table = PairsTable(all);
  EXPECT_THAT(table, testing::ContainsRegex("pair 1 +1\\.000 ±0\\.000 +0\\.33 "));
  EXPECT_THAT(table, testing::ContainsRegex("pair 3 +3\\.000 ±0\\.000 +3\\.00 "));
  EXPECT_THAT(table, testing::ContainsRegex("mean +1\\.67 +1\\.67"));
  EXPECT_THAT(table, testing::ContainsRegex("largest +3\\.00 +3\\.00"));
  const json list = json::parse(PairsJson(all, "millrace"));
  EXPECT_EQ(list["command"], "millrace");
  EXPECT_EQ(list["lines"].size(), 2u);
  EXPECT_EQ(list["lines"][1]["name"], "pair 3");
  EXPECT_EQ(list["lines"][1]["references"][0]["whole"]["epe"], 3);
  all[0].evaluation.references.pop_back();
  all[1].evaluation.references.pop_back();
  EXPECT_THAT(PairsTable(all), Not(HasSubstr("largest"))) << "nothing to compare with";
}

TEST(EvaluationReportTest, ALineWithoutTruthHasNoShare) {
  std::vector<EvaluatedPairs> all;
  for (const std::optional<double> error : {std::optional<double>(), std::optional(1.0)}) {
    Made made = MadeEvaluation(error);
    made.evaluation.references.push_back({"dis", 0, StreamOf(0.5, error)});
    all.push_back({error ? "known" : "unknown", made.options, std::move(made.evaluation)});
  }
  const std::string table = PairsTable(all);
  EXPECT_THAT(table, testing::ContainsRegex("unknown +- +- "));
  EXPECT_THAT(table, testing::ContainsRegex("mean +1\\.00")) << "of the one that is known";
  EXPECT_TRUE(json::parse(PairsJson(all, ""))["lines"][0]["truth"].is_null());
  EXPECT_EQ(json::parse(PairsJson(all, ""))["lines"][1]["truth"], "exact");
  EXPECT_THAT(PairsTable({all[0]}), testing::ContainsRegex("largest +- "));
}

std::vector<std::string> NamesOf(const std::vector<EvaluationPlot>& plots) {
  std::vector<std::string> names;
  for (const EvaluationPlot& plot : plots) names.push_back(plot.name);
  return names;
}

TEST(EvaluationReportTest, ThereIsAPlotForWhatIsKnown) {
  EXPECT_THAT(NamesOf(EvaluationPlots(MadeEvaluation({}).evaluation)), ElementsAre("loss_ratio"));
  EXPECT_THAT(NamesOf(EvaluationPlots(MadeEvaluation(1.0).evaluation)),
              ElementsAre("loss_ratio", "epe"));
  EXPECT_THAT(NamesOf(EvaluationPlots(MadeEvaluation(1.0, {10}).evaluation)),
              ElementsAre("loss_ratio", "epe"))
      << "one rate makes no line";
  EXPECT_THAT(NamesOf(EvaluationPlots(MadeEvaluation(1.0, {10, 20}).evaluation)),
              ElementsAre("loss_ratio", "loss_ratio_by_rate", "epe", "epe_by_rate"));
  EXPECT_THAT(EvaluationPlots({}), IsEmpty());
}

TEST(EvaluationReportTest, ALineIsTheMeanOfItsSeeds) {
  const auto plots = EvaluationPlots(MadeEvaluation({}).evaluation);
  // Losses of 0.1 and 0.2 over 0.5, then half of them, then a third.
  EXPECT_THAT(plots.at(0).commands, HasSubstr("\n0 0.3 0.141421\n60 0.15 "));
  EXPECT_THAT(plots.at(0).commands, HasSubstr("title 'flow sequential'"));
  EXPECT_THAT(plots.at(0).commands, HasSubstr("title 'none'"));
}

class GnuplotTest : public ::testing::Test {
 protected:
  GnuplotTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "millrace-plots-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~GnuplotTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(GnuplotTest, DrawsAPictureBesideWhatItWasToldToDraw) {
  ASSERT_TRUE(CheckGnuplot().ok()) << CheckGnuplot();
  const auto plots = EvaluationPlots(MadeEvaluation(1.0, {10, 20}).evaluation);
  ASSERT_TRUE(DrawPlots(plots, folder_).ok());
  for (const EvaluationPlot& plot : plots) {
    EXPECT_EQ(*ReadFile(folder_ + "/" + plot.name + ".gp"), plot.commands);
    const std::string svg = *ReadFile(folder_ + "/" + plot.name + ".svg");
    EXPECT_THAT(svg, HasSubstr("<svg"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, HasSubstr("flow partime"));
  }
}

TEST_F(GnuplotTest, WhatItCannotDrawItSays) {
  const absl::Status status =
      DrawPlots({{.name = "bad", .commands = "plot nonsense (\n"}}, folder_);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad.gp"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("plot nonsense"));
}

TEST_F(GnuplotTest, AFolderThatIsNotThereIsNamed) {
  const auto plots = EvaluationPlots(MadeEvaluation({}).evaluation);
  EXPECT_THAT(std::string(DrawPlots(plots, folder_ + "/nowhere").message()), HasSubstr("nowhere"));
}

TEST_F(GnuplotTest, WhereThereIsNoneItSaysHowToGetIt) {
  const char* const set = std::getenv("PATH");
  ASSERT_NE(set, nullptr);
  const std::string path = set;
  setenv("PATH", folder_.c_str(), /*replace=*/1);
  const absl::Status status = CheckGnuplot();
  setenv("PATH", path.c_str(), /*replace=*/1);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("gnuplot-nox"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--no-plots"));
}

}  // namespace
}  // namespace millrace::service
