// `millrace evaluate labels`: measures a model's accuracy under each schedule, on data with known
// classes.
#pragma once

#include <string>
#include <vector>

#include "pipeline/offline/label_trial.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// The command line's values; names are not checked yet.
struct EvaluateLabelsArguments {
  /// Files of one data set, and files of its test part. Empty test files: a share of `data` is the
  /// test part.
  std::vector<std::string> data = {};
  std::vector<std::string> test_data = {};
  double test_share = 0.3;
  std::vector<std::string> schedules = {"sequential", "stale", "hybrid"};
  std::vector<int> stages = {2, 4, 8};
  std::vector<int> windows = {64};
  int seeds = 5;
  /// For hybrid: the share of the samples after which it becomes sequential.
  double switch_share = 2.0 / 3;
  /// Options of each run, except its schedule, stages, window and seed.
  pipeline::LabelTrialOptions trial = {};
  std::string optimizer = "sgd";
  std::string recompute = "always";
  /// The file to write; empty: no file.
  std::string out = {};
};

/// Adds the command `labels` to `evaluate`. Parsing writes to `arguments`.
void AddEvaluateLabels(CLI::App& evaluate, EvaluateLabelsArguments& arguments);

/// Runs the command, prints a table, and returns the program's exit code.
[[nodiscard]] int RunEvaluateLabels(const EvaluateLabelsArguments& arguments);

}  // namespace millrace::service
