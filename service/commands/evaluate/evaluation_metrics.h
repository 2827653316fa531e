// The metrics of an evaluation, by name. Tables, JSON and plots use this list.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// One metric of a stream's scores.
struct EvaluationMetric {
  /// Its key in JSON.
  std::string_view name;
  /// Its column head and axis label.
  std::string_view head;
  std::string_view axis;
  /// Returns nullopt if the value is unknown.
  std::optional<double> (*of)(const pipeline::StreamScores&);
  /// Whether it depends on the true motion, if that is known.
  bool of_truth = false;
};

/// "pseudo" before names of metrics that depend on pseudo-truth, else "". `separator` follows.
[[nodiscard]] std::string PseudoMark(const EvaluationMetric& metric,
                                     const pipeline::FlowEvaluation& evaluation, char separator);

/// All metrics, with unique names.
[[nodiscard]] std::span<const EvaluationMetric> EvaluationMetrics();

/// REQUIRES: a metric has that name.
[[nodiscard]] const EvaluationMetric& EvaluationMetricNamed(std::string_view name);

/// Runs that differ only in the seed.
struct EvaluationGroup {
  std::string name;
  std::vector<const pipeline::FlowEvaluation::Run*> runs;
};

/// The groups, in the order of the runs. They refer to `evaluation`.
[[nodiscard]] std::vector<EvaluationGroup> GroupsOf(const pipeline::FlowEvaluation& evaluation);

}  // namespace millrace::service
