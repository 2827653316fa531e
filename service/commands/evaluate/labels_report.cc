#include "service/commands/evaluate/labels_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "nlohmann/json.hpp"
#include "service/terminal/mean_and_deviation.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::LabelTrialResult;
using pipeline::TestScore;

constexpr double kPercent = 100;

template <typename Figure>
std::vector<double> Of(const LabelsRow& row, Figure figure) {
  std::vector<double> values;
  values.reserve(row.runs.size());
  for (const LabelTrialResult& run : row.runs) values.push_back(figure(run));
  return values;
}

std::vector<double> Accuracies(const LabelsRow& row) {
  return Of(row, [](const LabelTrialResult& run) { return kPercent * run.test.accuracy; });
}

std::vector<double> Differences(const LabelsRow& row, const LabelsRow& baseline) {
  std::vector<double> values = Accuracies(row);
  const std::vector<double> others = Accuracies(baseline);
  MILLRACE_CHECK(values.size() == others.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= others[i];
  return values;
}

const LabelsRow& BaselineOf(const LabelsRow& row, const std::vector<LabelsRow>& rows) {
  return *std::ranges::find(rows, row.window, &LabelsRow::window);
}

std::string Text(const MeanAndDeviation& figure, int digits) {
  return absl::StrFormat("%.*f (%.*f)", digits, figure.mean, digits, figure.deviation);
}

json ScoreJson(const TestScore& score) {
  // JSON has no infinite numbers.
  return {{"samples", score.samples},
          {"accuracy", score.accuracy},
          {"loss", std::isfinite(score.loss) ? json(score.loss) : json(nullptr)}};
}

json RunJson(const LabelTrialResult& run) {
  json way = json::array();
  for (const TestScore& score : run.along_the_way) way.push_back(ScoreJson(score));
  return {{"test", ScoreJson(run.test)},
          {"along_the_way", way},
          {"prequential_accuracy", run.prequential_accuracy},
          {"samples", run.samples},
          {"updates", run.updates},
          {"labels",
           {{"in_time", run.labels.in_time},
            {"late", run.labels.late},
            {"too_late", run.labels.too_late}}},
          {"seconds", run.seconds}};
}

}  // namespace

std::string LabelsTable(const std::vector<LabelsRow>& rows) {
  TextTable table({"schedule", "stages", "window", "test %", "least", "greatest", "difference",
                   "unseen %", "s"});
  for (const LabelsRow& row : rows) {
    const std::vector<double> accuracies = Accuracies(row);
    const auto unseen =
        Of(row, [](const LabelTrialResult& run) { return kPercent * run.prequential_accuracy; });
    const auto seconds = Of(row, [](const LabelTrialResult& run) { return run.seconds; });
    const auto [min, max] = std::ranges::minmax(accuracies);
    table.Add({row.schedule, absl::StrCat(row.stages), absl::StrCat(row.window),
               Text(MeanOf(accuracies), 2), absl::StrFormat("%.2f", min),
               absl::StrFormat("%.2f", max),
               Text(MeanOf(Differences(row, BaselineOf(row, rows))), 2), Text(MeanOf(unseen), 1),
               absl::StrFormat("%.1f", MeanOf(seconds).mean)});
  }
  return table.Text();
}

std::string LabelsJson(const LabelsConditions& conditions, const std::vector<LabelsRow>& rows) {
  const pipeline::LabelTrialOptions& trial = conditions.trial;
  json all = {{"data", conditions.data},
              {"train_samples", conditions.train_samples},
              {"test_samples", conditions.test_samples},
              {"network", trial.task.model.empty() ? trial.task.network : trial.task.model},
              {"layers", trial.task.layers},
              {"width", trial.task.width},
              {"optimizer", conditions.optimizer},
              {"learning_rate", trial.learner.optimizer.learning_rate},
              {"momentum", trial.learner.optimizer.momentum},
              {"passes", trial.passes},
              {"label_delay", trial.label_delay},
              {"labelled_share", trial.labelled_share},
              {"rows", json::array()}};
  for (const LabelsRow& row : rows) {
    const MeanAndDeviation accuracy = MeanOf(Accuracies(row));
    const MeanAndDeviation difference = MeanOf(Differences(row, BaselineOf(row, rows)));
    json own = {{"schedule", row.schedule},
                {"stages", row.stages},
                {"window", row.window},
                {"test_percent", {{"mean", accuracy.mean}, {"deviation", accuracy.deviation}}},
                {"difference", {{"mean", difference.mean}, {"deviation", difference.deviation}}},
                {"runs", json::array()}};
    for (const LabelTrialResult& run : row.runs) own["runs"].push_back(RunJson(run));
    all["rows"].push_back(std::move(own));
  }
  return all.dump(2) + "\n";
}

}  // namespace millrace::service
