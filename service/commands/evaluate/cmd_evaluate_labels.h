// `millrace evaluate labels`: how good a model becomes under each schedule, on data with known
// classes.
#pragma once

#include <string>
#include <vector>

#include "pipeline/offline/label_trial.h"

namespace millrace::service {

/// What the command line says; names are not checked yet.
struct EvaluateLabelsArguments {
  /// Files of one data set; of another part of it to test on. Empty: a share of the first is.
  std::vector<std::string> data = {};
  std::vector<std::string> test_data = {};
  double test_share = 0.3;
  std::vector<std::string> schedules = {"sequential", "stale", "hybrid"};
  std::vector<int> stages = {2, 4, 8};
  std::vector<int> windows = {64};
  int seeds = 5;
  /// Of hybrid: the share of the samples after which it becomes sequential.
  double switch_share = 2.0 / 3;
  /// Of each run, but for its schedule, stages, window and seed.
  pipeline::LabelTrialOptions trial = {};
  std::string optimizer = "sgd";
  std::string recompute = "always";
  /// The file to write. Empty: none.
  std::string out = {};
};

/// Runs the command, printing a table, and returns the program's exit code.
[[nodiscard]] int RunEvaluateLabels(const EvaluateLabelsArguments& arguments);

}  // namespace millrace::service
