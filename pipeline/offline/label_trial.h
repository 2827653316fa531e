// Runs a learner over a data set once and scores it, to check the papers' claims about learning.
// The same options and data give the same figures.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/data/labelled_samples.h"
#include "pipeline/decisions/late_labels.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

struct LabelTrialOptions {
  /// Its seed also determines the samples' order.
  LearnerOptions learner = {};
  /// Its shape and outputs are those of the data.
  LabelTaskOptions task = {};
  /// The number of passes over the data, each in another order.
  int passes = 5;
  /// Scores the test samples after every n samples, besides at the end. 0: only at the end.
  int score_every = 0;
  /// The label of sample t arrives right after the prediction of sample t + label_delay - 1. 0:
  /// with the sample.
  int label_delay = 0;
  /// The share of samples whose labels arrive at all, chosen at random.
  double labelled_share = 1;
  /// Called for each sample that the learner has admitted. May be empty.
  std::function<void()> on_sample = {};
};

/// The model's score on the test samples.
struct TestScore {
  /// The number of admitted samples at this time.
  std::int64_t samples = 0;
  double accuracy = 0;
  /// Cross entropy; infinite if the model gave the right class a probability of 0.
  double loss = 0;
};

struct LabelTrialResult {
  std::int64_t samples = 0;
  /// At the end.
  TestScore test = {};
  std::vector<TestScore> along_the_way = {};
  /// The share of correct predictions in the first pass, each before the model learned from its
  /// sample.
  double prequential_accuracy = 0;
  /// Of all stages together.
  std::int64_t updates = 0;
  LabelFigures labels = {};
  double seconds = 0;
};

/// Fails as StagedLabelLearner::Make() does, with INVALID_ARGUMENT for an option out of range, or
/// with the failure of the pipeline. REQUIRES: both parts of `data` have samples.
[[nodiscard]] absl::StatusOr<LabelTrialResult> RunLabelTrial(const LabelTrialOptions& options,
                                                             const Split& data);

}  // namespace millrace::pipeline
