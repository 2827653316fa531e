// The results of `millrace evaluate labels`, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "pipeline/offline/label_trial.h"

namespace millrace::service {

/// The runs of one schedule, number of stages and window: one run per seed, in the same order in
/// each row.
struct LabelsRow {
  std::string schedule;
  int stages = 1;
  int window = 1;
  std::vector<pipeline::LabelTrialResult> runs = {};
};

/// Conditions that are the same for all runs.
struct LabelsConditions {
  std::vector<std::string> data = {};
  std::size_t train_samples = 0;
  std::size_t test_samples = 0;
  pipeline::LabelTrialOptions trial = {};
  std::string optimizer = {};
};

/// One table row per LabelsRow. Differences are to the first row with the same window, seed by
/// seed. REQUIRES: all rows have the same number of runs, at least one.
[[nodiscard]] std::string LabelsTable(const std::vector<LabelsRow>& rows);

/// The same results with every run, its learning curve, and the options.
[[nodiscard]] std::string LabelsJson(const LabelsConditions& conditions,
                                     const std::vector<LabelsRow>& rows);

}  // namespace millrace::service
