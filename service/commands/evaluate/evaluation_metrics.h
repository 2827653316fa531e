// The figures of an evaluation, by name: what tables, JSON and plots take theirs from.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// One figure of a stream's scores.
struct EvaluationMetric {
  /// Its key in JSON.
  std::string_view name;
  /// Over its column, and on an axis.
  std::string_view head;
  std::string_view axis;
  /// Nothing where it is not known.
  std::optional<double> (*of)(const pipeline::StreamScores&);
};

/// All of them, each name once.
[[nodiscard]] std::span<const EvaluationMetric> EvaluationMetrics();

/// REQUIRES: there is one of that name.
[[nodiscard]] const EvaluationMetric& EvaluationMetricNamed(std::string_view name);

/// Runs that are the same but for the seed.
struct EvaluationGroup {
  std::string name;
  std::vector<const pipeline::FlowEvaluation::Run*> runs;
};

/// In the order of the runs. They refer to `evaluation`.
[[nodiscard]] std::vector<EvaluationGroup> GroupsOf(const pipeline::FlowEvaluation& evaluation);

}  // namespace millrace::service
