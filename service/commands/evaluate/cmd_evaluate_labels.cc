#include "service/commands/evaluate/cmd_evaluate_labels.h"

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/atomic_file.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/data/formats.h"
#include "service/commands/evaluate/labels_report.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/progress_bar.h"

namespace millrace::service {
namespace {

using pipeline::LabelledSamples;
using pipeline::LabelTrialOptions;
using pipeline::LabelTrialResult;
using pipeline::Split;

// The data of all runs.
struct Data {
  LabelledSamples all;
  std::optional<LabelledSamples> test;  // Nullopt: a share of `all`.

  [[nodiscard]] Split ForSeed(double test_share, std::uint64_t seed) const {
    if (test) return {.train = all, .test = *test};
    return pipeline::SplitSamples(all, test_share, seed);
  }
};

absl::StatusOr<Data> ReadData(const EvaluateLabelsArguments& arguments) {
  Data data;
  MILLRACE_ASSIGN_OR_RETURN(data.all, pipeline::ReadDataSet(arguments.data));
  if (!arguments.test_data.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(data.test, pipeline::ReadDataSet(arguments.test_data));
    if (data.test->shape == data.all.shape && data.test->classes == data.all.classes) return data;
    return absl::InvalidArgumentError("--test-data is not of the same kind as --data");
  }
  const Split split = data.ForSeed(arguments.test_share, 0);
  if (split.train.count() > 0 && split.test.count() > 0) return data;
  return absl::InvalidArgumentError(absl::StrCat("of ", Plural(data.all.count(), "sample"),
                                                 " a share of ", arguments.test_share,
                                                 " leaves none to learn from, or none to test on"));
}

// The table's rows in order, still without runs. `sequential` has one row, because all numbers of
// stages compute the same.
std::vector<LabelsRow> RowsOf(const EvaluateLabelsArguments& arguments) {
  std::vector<LabelsRow> rows;
  for (const int window : arguments.windows) {
    for (const std::string& schedule : arguments.schedules) {
      const bool once = schedule == "sequential";
      for (const int stages : once ? std::vector<int>{1} : arguments.stages) {
        rows.push_back({.schedule = schedule, .stages = stages, .window = window});
      }
    }
  }
  return rows;
}

class Evaluation {
 public:
  Evaluation(const EvaluateLabelsArguments& arguments, LabelTrialOptions trial, Data data)
      : arguments_(arguments),
        trial_(std::move(trial)),
        data_(std::move(data)),
        rows_(RowsOf(arguments)) {
    if (::isatty(STDERR_FILENO) == 0) return;
    bar_.emplace(std::cerr, ProgressBar::OnStandardError("samples"));
    trial_.on_sample = [this] { ShowSample(); };
  }

  absl::Status Run() {
    const absl::Status ran = RunAll();
    if (bar_) bar_->Finish();
    return ran.ok() ? Report() : ran;
  }

 private:
  absl::Status RunAll() {
    for (int seed = 0; seed < arguments_.seeds; ++seed) {
      const Split split = data_.ForSeed(arguments_.test_share, seed);
      train_samples_ = split.train.count();
      test_samples_ = split.test.count();
      for (LabelsRow& row : rows_) MILLRACE_RETURN_IF_ERROR(RunOne(row, seed, split));
    }
    return absl::OkStatus();
  }

  [[nodiscard]] absl::Status Report() const {
    std::cout << absl::StrCat(Plural(train_samples_, "sample"), " to learn from, ",
                              Plural(trial_.passes, "pass", "es"), ", ", test_samples_,
                              " to test on; mean (standard deviation) of ",
                              Plural(arguments_.seeds, "seed"), "\n\n")
              << LabelsTable(rows_);
    if (arguments_.out.empty()) return absl::OkStatus();
    return WriteFileAtomically(arguments_.out, LabelsJson({.data = arguments_.data,
                                                           .train_samples = train_samples_,
                                                           .test_samples = test_samples_,
                                                           .trial = trial_,
                                                           .optimizer = arguments_.optimizer},
                                                          rows_));
  }

  absl::Status RunOne(LabelsRow& row, int seed, const Split& split) {
    LabelTrialOptions trial = trial_;
    trial.learner.schedule = row.schedule;
    trial.learner.stages = row.stages;
    trial.task.window = row.window;
    trial.learner.seed = static_cast<std::uint64_t>(seed);
    const auto samples = static_cast<double>(split.train.count()) * trial.passes;
    trial.learner.request.switch_at = std::llround(arguments_.switch_share * samples);
    MILLRACE_ASSIGN_OR_RETURN(LabelTrialResult result, pipeline::RunLabelTrial(trial, split));
    if (!bar_) TellRun(row, seed, result);
    row.runs.push_back(std::move(result));
    return absl::OkStatus();
  }

  // Reports a run if no progress bar is shown.
  void TellRun(const LabelsRow& row, int seed, const LabelTrialResult& result) {
    std::cerr << absl::StrFormat(
        "%d of %d: %s, %d stage%s, window %d, seed %d: %.2f %% in %.1f s\n", ++run_,
        rows_.size() * arguments_.seeds, row.schedule, row.stages, row.stages == 1 ? "" : "s",
        row.window, seed, 100 * result.test.accuracy, result.seconds);
  }

  // Every run has the same number of samples, whatever its seed.
  void ShowSample() {
    const auto runs = static_cast<std::int64_t>(rows_.size()) * arguments_.seeds;
    bar_->Show(++samples_, runs * static_cast<std::int64_t>(train_samples_) * trial_.passes);
  }

  const EvaluateLabelsArguments& arguments_;
  LabelTrialOptions trial_;  // Constant after construction.
  const Data data_;
  std::vector<LabelsRow> rows_;
  std::size_t train_samples_ = 0;
  std::size_t test_samples_ = 0;
  int run_ = 0;
  std::int64_t samples_ = 0;
  std::optional<ProgressBar> bar_;  // Set on a terminal.
};

absl::Status Evaluate(const EvaluateLabelsArguments& arguments) {
  LabelTrialOptions trial = arguments.trial;
  MILLRACE_ASSIGN_OR_RETURN(trial.learner.optimizer.kind,
                            pipeline::OptimizerKind(arguments.optimizer));
  MILLRACE_ASSIGN_OR_RETURN(trial.learner.request.recompute,
                            pipeline::RecomputeNamed(arguments.recompute));
  MILLRACE_ASSIGN_OR_RETURN(Data data, ReadData(arguments));
  if (!arguments.out.empty()) MILLRACE_RETURN_IF_ERROR(CheckWritable(arguments.out));
  return Evaluation(arguments, std::move(trial), std::move(data)).Run();
}

}  // namespace

int RunEvaluateLabels(const EvaluateLabelsArguments& arguments) {
  const absl::Status status = Evaluate(arguments);
  if (!status.ok()) std::cerr << "millrace evaluate labels: " << status.message() << "\n";
  return ExitCodeOf(status);
}

}  // namespace millrace::service
