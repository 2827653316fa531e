// The label of a sample, and the rules of a task for its labels.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace millrace::pipeline {

enum class LabelTask {
  kClassification,  ///< Cross entropy of logits; a label is a class.
  kRegression,      ///< Mean squared error; a label has one value for each output.
};

/// The correct answer for a sample: its class, counted from 0, or the values to predict.
using SampleLabel = std::variant<std::int64_t, std::vector<float>>;

/// A task of labels, for clients that send labels.
struct LabelledTask {
  LabelTask task = LabelTask::kClassification;
  /// Classes, or values.
  int outputs = 0;
  /// The names of the classes, one each; or empty.
  std::vector<std::string> classes = {};
  /// A label can be learned from while its sample is among the last `window` samples.
  int window = 1;
};

/// The largest absolute value of a label. The square of a larger one would dominate all other
/// errors.
inline constexpr float kMaxLabelValue = 1e6F;

/// Fails with INVALID_ARGUMENT, saying what is allowed, unless `label` fits a task with `outputs`
/// outputs.
[[nodiscard]] absl::Status CheckLabel(const SampleLabel& label, LabelTask task, int outputs);

}  // namespace millrace::pipeline
