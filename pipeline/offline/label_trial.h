// One run of a learner over a data set, and how good it became: what the papers' claims about
// learning are checked by. The same options and data give the same figures.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/data/labelled_samples.h"
#include "pipeline/labels/label_learner.h"

namespace millrace::pipeline {

struct LabelTrialOptions {
  /// Its shape and outputs are those of the data. Its seed is also that of the samples' order.
  LabelLearnerOptions learner = {};
  /// Times that every sample comes, in another order each time.
  int passes = 5;
  /// The model is asked for the test samples after every so many samples, besides at the end. 0: at
  /// the end only.
  int score_every = 0;
  /// The label of a sample comes right after the prediction of the sample so many later, less one.
  /// 0: with the sample.
  int label_delay = 0;
  /// The share of the samples whose labels ever come; which, is drawn at random.
  double labelled_share = 1;
  /// Called for each sample that the learner has taken. May be empty.
  std::function<void()> on_sample = {};
};

/// How good the model was on the test samples.
struct TestScore {
  /// So many samples had come.
  std::int64_t samples = 0;
  double accuracy = 0;
  /// Cross entropy; infinite where it thought that the right class is impossible.
  double loss = 0;
};

struct LabelTrialResult {
  std::int64_t samples = 0;
  /// At the end.
  TestScore test = {};
  std::vector<TestScore> along_the_way = {};
  /// Share of the samples of the first pass whose class was predicted, each before anything was
  /// learned from it.
  double prequential_accuracy = 0;
  /// Of all stages together.
  std::int64_t updates = 0;
  LabelFigures labels = {};
  double seconds = 0;
};

/// Fails as MakeLabelLearner() does, with INVALID_ARGUMENT for an option out of range, or with what
/// stopped the pipeline. REQUIRES: both parts of `data` have samples.
[[nodiscard]] absl::StatusOr<LabelTrialResult> RunLabelTrial(const LabelTrialOptions& options,
                                                             const Split& data);

}  // namespace millrace::pipeline
