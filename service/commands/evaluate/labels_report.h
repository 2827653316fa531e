// What `millrace evaluate labels` found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "pipeline/offline/label_trial.h"

namespace millrace::service {

/// The runs of one schedule, number of stages and window: one for each seed, in the same order in
/// each row.
struct LabelsRow {
  std::string schedule;
  int stages = 1;
  int window = 1;
  std::vector<pipeline::LabelTrialResult> runs = {};
};

/// What was the same in all runs.
struct LabelsConditions {
  std::vector<std::string> data = {};
  std::size_t train_samples = 0;
  std::size_t test_samples = 0;
  pipeline::LabelTrialOptions trial = {};
  std::string optimizer = {};
};

/// A row each. Differences are to the first row of the same window, seed by seed.
/// REQUIRES: as many runs in each row, at least one.
[[nodiscard]] std::string LabelsTable(const std::vector<LabelsRow>& rows);

/// The same with every run, its way there, and what it was asked for.
[[nodiscard]] std::string LabelsJson(const LabelsConditions& conditions,
                                     const std::vector<LabelsRow>& rows);

}  // namespace millrace::service
