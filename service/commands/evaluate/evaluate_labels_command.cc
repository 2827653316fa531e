#include "service/commands/evaluate/evaluate_labels_command.h"

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/atomic_file.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/data/formats.h"
#include "service/commands/evaluate/labels_report.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_optimizer.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/progress_bar.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
Each run streams the samples in several passes, each in another order. At every step it learns
from the window of the last samples, in which the new sample replaces the oldest. A seed draws the
weights, the order, and the test samples.

Data sets, recognised by their files
  scikit-learn  digits.csv.gz
  MNIST         NAME-images-idx3-ubyte (or .gz), with NAME-labels-idx1-ubyte beside it
  CIFAR-10      data_batch_1.bin,...

Columns
  test %      share of the test samples that the final network classifies right
  difference  to the first row of the same window, seed by seed
  unseen %    share of the first pass's samples that were classified right before learning from them
  s           seconds a run

The same command gives the same figures, except for the seconds.

Examples
  millrace evaluate labels --data digits.csv.gz
  millrace evaluate labels --data digits.csv.gz --schedules sequential,partime --window 64,256,1024
  millrace evaluate labels --data digits.csv.gz --schedules partime --label-delay 32 --out late.json)";

void AddData(CLI::App& labels, EvaluateLabelsArguments& arguments) {
  labels.add_option("--data", arguments.data, "The files of a data set")
      ->delimiter(',')
      ->required();
  labels
      .add_option("--test-data", arguments.test_data,
                  "Files to test on; all --data is then for learning")
      ->delimiter(',');
  labels
      .add_option("--test-share", arguments.test_share,
                  "Without --test-data: the share of the samples to test on")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  pipeline::LabelTrialOptions& trial = arguments.trial;
  labels.add_option("--passes", trial.passes, "Number of passes over the samples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels
      .add_option("--label-delay", trial.label_delay,
                  "Delay of a label, in samples. 0: with its sample; 1: right after its prediction")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  labels
      .add_option("--labelled-share", trial.labelled_share, "Share of the samples that get a label")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

void AddSchedules(CLI::App& labels, EvaluateLabelsArguments& arguments) {
  labels.add_option("--schedules", arguments.schedules, "The schedules")
      ->delimiter(',')
      ->check(ScheduleName())
      ->capture_default_str();
  labels.add_option("--stages", arguments.stages, "Numbers of stages, of all but sequential")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels.add_option("--window", arguments.windows, "Samples in the window of each step")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels.add_option("--seeds", arguments.seeds, "Runs of each, with different seeds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels
      .add_option("--switch-share", arguments.switch_share,
                  "hybrid: the share of the samples before its sequential phase")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  labels
      .add_option("--micro-batches", arguments.trial.learner.request.samples,
                  "Steps of a pattern: gpipe, timeprest, pipedream_2bw, k_periodic")
      ->check(CLI::PositiveNumber);
  labels
      .add_option("--recompute", arguments.recompute,
                  "gpipe: the steps that go forward twice: always, except_last or never")
      ->capture_default_str();
}

void AddNetwork(CLI::App& labels, EvaluateLabelsArguments& arguments) {
  pipeline::LabelTaskOptions& task = arguments.trial.task;
  labels.add_option(
      "--model", task.model,
      "In place of --network: a network saved by torch.jit, whose children are its layers");
  labels
      .add_option("--network", task.network,
                  "One of " + absl::StrJoin(pipeline::LabelNetworkNames(), ", "))
      ->capture_default_str();
  labels.add_option("--layers", task.layers, "Number of layers")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels.add_option("--width", task.width, "Numbers, or channels, of a layer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

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
  return absl::InvalidArgumentError(
      absl::StrCat("of ", Plural(data.all.count(), "sample"), " a share of ", arguments.test_share,
                   " leaves no sample to learn from, or no sample to test on"));
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
    ProgressBar& bar = bar_.emplace(std::cerr, ProgressBar::OnStandardError("samples"));
    trial_.on_sample = [this, &bar] { ShowSample(bar); };
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
    if (!bar_) PrintRun(row, seed, result);
    row.runs.push_back(std::move(result));
    return absl::OkStatus();
  }

  // Reports a run if no progress bar is shown.
  void PrintRun(const LabelsRow& row, int seed, const LabelTrialResult& result) {
    std::cerr << absl::StrFormat(
        "%d of %d: %s, %d stage%s, window %d, seed %d: %.2f %% in %.1f s\n", ++run_,
        rows_.size() * arguments_.seeds, row.schedule, row.stages, row.stages == 1 ? "" : "s",
        row.window, seed, 100 * result.test.accuracy, result.seconds);
  }

  // Every run has the same number of samples, whatever its seed.
  void ShowSample(ProgressBar& bar) {
    const auto runs = static_cast<std::int64_t>(rows_.size()) * arguments_.seeds;
    bar.Show(++samples_, runs * static_cast<std::int64_t>(train_samples_) * trial_.passes);
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

void AddEvaluateLabels(CLI::App& evaluate, EvaluateLabelsArguments& arguments) {
  pipeline::LabelTrialOptions& trial = arguments.trial;
  trial.learner.optimizer.learning_rate = 0.01;
  CLI::App* labels =
      evaluate.add_subcommand("labels", "Compare schedules on a data set with known classes");
  AddData(*labels, arguments);
  AddSchedules(*labels, arguments);
  AddNetwork(*labels, arguments);
  AddOptimizer(*labels, arguments.optimizer, trial.learner.optimizer);
  labels
      ->add_option("--score-every", trial.score_every,
                   "Samples between two tests, for the file of --out. 0: test only at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  labels
      ->add_option("--threads-per-stage", trial.learner.threads_per_stage,
                   "Threads in an operation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  labels->add_option("-o,--out", arguments.out, "Also write all results to this file (JSON)");
  labels->footer(kFooter);
}

int RunEvaluateLabels(const EvaluateLabelsArguments& arguments) {
  const absl::Status status = Evaluate(arguments);
  if (!status.ok()) std::cerr << "millrace evaluate labels: " << status.message() << "\n";
  return ExitCodeOf(status);
}

}  // namespace millrace::service
