// What is right for a sample, and what a task of labels takes for one.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace millrace::pipeline {

enum class LabelTask {
  kClassification,  ///< Cross entropy of logits; a label is a class.
  kRegression,      ///< Mean squared error; a label is as many values as the network makes.
};

/// What is right for a sample: its class, counted from 0, or the values to predict.
using SampleLabel = std::variant<std::int64_t, std::vector<float>>;

/// A task of labels, as those who send labels must know it.
struct LabelledTask {
  LabelTask task = LabelTask::kClassification;
  /// Classes, or values.
  int outputs = 0;
  /// The classes' names, one each, or none.
  std::vector<std::string> classes = {};
  /// A label teaches as long as its sample is among the last so many.
  int window = 1;
};

/// The largest value of a label, either way: the square of a larger one would drown all others'
/// errors.
inline constexpr float kLargestLabelValue = 1e6F;

/// INVALID_ARGUMENT, saying what is allowed, unless `label` is one of a task with so many outputs.
[[nodiscard]] absl::Status CheckLabel(const SampleLabel& label, LabelTask task, int outputs);

}  // namespace millrace::pipeline
