#include "service/commands/evaluate/evaluation_table.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "pipeline/evaluation/retention.h"
#include "service/commands/evaluate/evaluation_metrics.h"
#include "service/terminal/mean_and_deviation.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

using pipeline::FlowEvaluation;
using pipeline::FlowRunResult;
using pipeline::StreamScores;

constexpr std::string_view kColumns[] = {"loss_ratio",
                                         "gain",
                                         "epe",
                                         "epe_visible",
                                         "epe_under_1_px",
                                         "epe_1_to_10_px",
                                         "epe_over_10_px",
                                         "fl",
                                         "angular_error_degrees",
                                         "ause",
                                         "motion_f1",
                                         "reconstructed_0_05"};

// A table row before formatting: its scores, one per seed or clip.
struct Row {
  std::string name;
  std::vector<const StreamScores*> scores;
  std::string dropped = "-";
};

std::string SpreadText(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const MeanAndDeviation found = MeanOf(values);
  if (values.size() == 1) return absl::StrFormat("%.3f", found.mean);
  return absl::StrFormat("%.3f ±%.3f", found.mean, found.deviation);
}

std::string SpreadText(const std::vector<const StreamScores*>& scores,
                       const EvaluationMetric& metric) {
  std::vector<double> values;
  for (const StreamScores* of_seed : scores) {
    if (const std::optional<double> value = metric.of(*of_seed)) values.push_back(*value);
  }
  return SpreadText(values);
}

bool IsKnown(const std::vector<Row>& rows, const EvaluationMetric& metric) {
  for (const Row& row : rows) {
    if (SpreadText(row.scores, metric) != "-") return true;
  }
  return false;
}

// Makes tables of one evaluation's scores.
struct TableMaker {
  const FlowEvaluation& evaluation;
  bool with_dropped = false;

  [[nodiscard]] std::string Make(std::string_view title, const std::vector<Row>& rows) const;
};

std::string TableMaker::Make(std::string_view title, const std::vector<Row>& rows) const {
  if (rows.empty()) return "";
  std::vector<const EvaluationMetric*> columns;
  std::vector<std::string> heads = {""};
  if (with_dropped) heads.emplace_back("dropped");
  for (const std::string_view name : kColumns) {
    const EvaluationMetric& metric = EvaluationMetricNamed(name);
    if (!IsKnown(rows, metric)) continue;
    columns.push_back(&metric);
    heads.push_back(PseudoMark(metric, evaluation, ' ') + std::string(metric.head));
  }
  TextTable table(heads);
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.name};
    if (with_dropped) cells.push_back(row.dropped);
    for (const EvaluationMetric* metric : columns) {
      cells.push_back(SpreadText(row.scores, *metric));
    }
    table.Add(std::move(cells));
  }
  return absl::StrCat(std::string(title), "\n\n", table.Text(), "\n");
}

std::string DroppedText(const EvaluationGroup& group) {
  std::vector<double> shares;
  for (const FlowEvaluation::Run* run : group.runs) {
    shares.push_back(static_cast<double>(run->result.dropped) /
                     static_cast<double>(run->result.pairs));
  }
  return absl::StrFormat("%.1f %%", 100 * MeanOf(shares).mean);
}

std::vector<Row> References(const FlowEvaluation& evaluation) {
  std::vector<Row> rows;
  for (const FlowEvaluation::Reference& reference : evaluation.references) {
    if (rows.empty() || rows.back().name != reference.name) {
      rows.push_back({.name = reference.name, .scores = {}});
    }
    rows.back().scores.push_back(&reference.scores.whole);
  }
  return rows;
}

using ScoresOfRun = std::function<const StreamScores*(const FlowEvaluation::Run&)>;

// Rows of those groups that have scores.
std::vector<Row> RowsOf(const std::vector<EvaluationGroup>& groups, const ScoresOfRun& scores_of) {
  std::vector<Row> rows;
  for (const EvaluationGroup& group : groups) {
    Row row{.name = group.name, .scores = {}, .dropped = DroppedText(group)};
    for (const FlowEvaluation::Run* run : group.runs) {
      if (const StreamScores* scores = scores_of(*run)) row.scores.push_back(scores);
    }
    if (!row.scores.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

std::string FrozenTables(const std::vector<EvaluationGroup>& groups, const FlowEvaluation& all) {
  std::string text;
  if (all.runs.empty()) return text;
  for (std::size_t i = 0; i < all.runs.front().result.frozen.size(); ++i) {
    const std::string& name = all.runs.front().result.frozen[i].name;
    const std::string what = name == "first" || name == "last"
                                 ? absl::StrCat("the ", name, " window")
                                 : absl::StrCat("the first window of ", name);
    text += TableMaker{all}.Make(absl::StrCat("At the end, no longer learning, on ", what),
                                 RowsOf(groups, [i](const FlowEvaluation::Run& run) {
                                   return &run.result.frozen[i].scores;
                                 }));
  }
  return text;
}

using OfTest = std::optional<double> (*)(const FlowRunResult::Frozen&);

// A metric of a frozen test. `test` is the test's index in a run.
struct TestFigure {
  std::string head;
  std::size_t test;
  OfTest of;
};

// The metrics of the first run; all runs have the same.
std::vector<TestFigure> FiguresOfTests(const FlowRunResult& result) {
  std::vector<TestFigure> figures;
  for (std::size_t i = 0; i < result.frozen.size(); ++i) {
    const FlowRunResult::Frozen& test = result.frozen[i];
    if (pipeline::Forgetting(test)) figures.push_back({"forgetting", i, pipeline::Forgetting});
    if (!pipeline::Transfer(test)) continue;
    figures.push_back({absl::StrCat("transfer to ", test.name), i, pipeline::Transfer});
  }
  return figures;
}

std::string RetentionTable(const std::vector<EvaluationGroup>& groups) {
  if (groups.empty()) return "";
  const std::vector<TestFigure> figures = FiguresOfTests(groups.front().runs.front()->result);
  if (figures.empty()) return "";
  std::vector<std::string> heads = {""};
  for (const TestFigure& figure : figures) heads.push_back(figure.head);
  TextTable table(heads);
  for (const EvaluationGroup& group : groups) {
    std::vector<std::string> cells = {group.name};
    for (const TestFigure& figure : figures) {
      std::vector<double> values;
      for (const FlowEvaluation::Run* run : group.runs) {
        const auto value = figure.of(run->result.frozen[figure.test]);
        if (value) values.push_back(*value);
      }
      cells.push_back(SpreadText(values));
    }
    table.Add(std::move(cells));
  }
  return absl::StrCat(
      "Forgetting of the first window, and transfer to other inputs, in loss ratios\n\n",
      table.Text(), "\n");
}

// "0.180" or "0.180 ±0.020": the mean of the runs' cosines of a stage; "-" if no run has a cosine.
std::string CosineText(const EvaluationGroup& group, std::size_t stage) {
  std::vector<double> cosines;
  for (const FlowEvaluation::Run* run : group.runs) {
    const auto& of_stages = run->result.update_cosines;
    if (stage >= of_stages.size()) continue;
    const std::optional<double>& cosine = of_stages[stage];
    if (cosine) cosines.push_back(*cosine);
  }
  return SpreadText(cosines);
}

// How late the gradients of each stage are, and how far its consecutive updates agree.
std::string CosineTable(const std::vector<EvaluationGroup>& groups) {
  std::size_t max_stages = 0;
  for (const EvaluationGroup& group : groups) {
    max_stages = std::max(max_stages, group.runs.front()->result.update_cosines.size());
  }
  if (max_stages == 0) return "";
  std::vector<std::string> heads = {""};
  for (std::size_t stage = 1; stage <= max_stages; ++stage) {
    heads.push_back(absl::StrCat("stage ", stage));
  }
  TextTable table(heads);
  for (const EvaluationGroup& group : groups) {
    const std::vector<pipeline::StageDescription>& stages = group.runs.front()->result.stages;
    std::vector<std::string> cells = {group.name};
    for (std::size_t stage = 0; stage < max_stages; ++stage) {
      cells.push_back(stage < stages.size()
                          ? absl::StrCat(CosineText(group, stage), ", ", stages[stage].staleness)
                          : "");
    }
    table.Add(std::move(cells));
  }
  return absl::StrCat("By stage: mean cosine between consecutive updates, staleness\n\n",
                      table.Text(), "\n");
}

constexpr char kOfDis[] = "of dis";

// The end-point errors of one evaluation, as cells of a line.
struct PairsErrors {
  explicit PairsErrors(const FlowEvaluation& evaluation) {
    const std::vector<Row> references = References(evaluation);
    const auto dis = std::ranges::find(references, "dis", &Row::name);
    for (const Row& row : RowsOf(GroupsOf(evaluation), [](const FlowEvaluation::Run& run) {
           return &run.result.model.whole;
         })) {
      Add(row);
      if (dis != references.end()) AddShare(ErrorOf(row), ErrorOf(*dis));
    }
    for (const Row& row : references) Add(row);
  }

  std::vector<std::string> heads;
  std::vector<std::string> cells;
  /// Of each learner: its error over that of DIS; nullopt if one of them is unknown or 0. Empty
  /// without DIS.
  std::vector<std::optional<double>> shares;

 private:
  // nullopt without truth.
  static std::optional<double> ErrorOf(const Row& row) {
    std::vector<double> values;
    for (const StreamScores* scores : row.scores) {
      if (const auto mean = scores->flow.error.mean()) values.push_back(*mean);
    }
    if (values.empty()) return std::nullopt;
    return MeanOf(values).mean;
  }

  void Add(const Row& row) {
    heads.push_back(row.name);
    cells.push_back(SpreadText(row.scores, EvaluationMetricNamed("epe")));
  }

  void AddShare(std::optional<double> error, std::optional<double> of_dis) {
    std::optional<double> share;
    if (error && of_dis && *of_dis > 0) share = *error / *of_dis;
    shares.push_back(share);
    heads.emplace_back(kOfDis);
    cells.push_back(share ? absl::StrFormat("%.2f", *share) : "-");
  }
};

// A last line, with a figure of all lines under each "of dis".
std::vector<std::string> SharesLine(const std::string& name, const std::vector<std::string>& heads,
                                    const std::vector<std::vector<double>>& shares,
                                    double (*of)(const std::vector<double>&)) {
  std::vector<std::string> cells = {name};
  std::size_t learner = 0;
  for (std::size_t i = 1; i < heads.size(); ++i) {
    if (heads[i] != kOfDis) {
      cells.emplace_back();
      continue;
    }
    const std::vector<double>& values = shares[learner++];
    cells.push_back(values.empty() ? "-" : absl::StrFormat("%.2f", of(values)));
  }
  return cells;
}

}  // namespace

std::string EvaluationTables(const pipeline::FlowEvaluation& evaluation) {
  const std::vector<EvaluationGroup> groups = GroupsOf(evaluation);
  const bool camera = !groups.empty() && groups.front().runs.front()->name.camera_rate > 0;
  std::vector<Row> rows =
      RowsOf(groups, [](const FlowEvaluation::Run& run) { return &run.result.model.whole; });
  const std::vector<Row> references = References(evaluation);
  rows.insert(rows.end(), references.begin(), references.end());
  const TableMaker table{evaluation, camera};
  std::string text = table.Make(
      evaluation.next_frame
          ? "While it learns: each picture as the two before foretold it, before learning "
            "from it"
          : "While it learns: each pair by its own prediction, made before learning from it",
      rows);
  const auto streaming = [](const FlowEvaluation::Run& run) {
    return run.result.streaming ? &run.result.streaming->whole : nullptr;
  };
  text += table.Make(
      absl::StrCat("At every instant", evaluation.real_time ? " of this machine's clock" : "",
                   ": each pair by the newest prediction that was there"),
      RowsOf(groups, streaming));
  text += FrozenTables(groups, evaluation);
  text += RetentionTable(groups);
  text += CosineTable(groups);
  return text;
}

std::string PairsTable(const std::vector<EvaluatedPairs>& all) {
  std::vector<std::string> heads = {""};
  std::vector<std::vector<double>> shares;  // Of each learner, by lines.
  std::vector<std::vector<std::string>> lines;
  for (const EvaluatedPairs& pairs : all) {
    const PairsErrors errors(pairs.evaluation);
    if (lines.empty()) heads.insert(heads.end(), errors.heads.begin(), errors.heads.end());
    shares.resize(errors.shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (const auto& share = errors.shares[i]) shares[i].push_back(*share);
    }
    lines.push_back({pairs.name});
    lines.back().insert(lines.back().end(), errors.cells.begin(), errors.cells.end());
  }
  TextTable table(heads);
  for (std::vector<std::string>& line : lines) table.Add(std::move(line));
  if (!shares.empty()) {
    table.Add(SharesLine("mean", heads, shares,
                         [](const std::vector<double>& of) { return MeanOf(of).mean; }));
    table.Add(SharesLine("largest", heads, shares, [](const std::vector<double>& of) {
      return *std::max_element(of.begin(), of.end());
    }));
  }
  return absl::StrCat("End-point error in pixels of the truth, before learning from a pair\n\n",
                      table.Text());
}

}  // namespace millrace::service
