// The results of `millrace bench`, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "pipeline/offline/bench.h"

namespace millrace::service {

/// Conditions that may make a result doubtful.
struct BenchConditions {
  int cores = 0;
  /// Over the last minute.
  double load_average = 0;
  /// Empty: unknown.
  std::string cpu;
};

/// The current conditions.
[[nodiscard]] BenchConditions PresentConditions();

/// "2 cores of an Intel Xeon, load average 0.12".
[[nodiscard]] std::string ConditionsText(const BenchConditions& conditions);

/// One row per contender; ratios are to the first row of the same network. REQUIRES: each row has
/// turns.
[[nodiscard]] std::string BenchTable(const std::vector<pipeline::BenchRow>& rows);

/// The same results with every turn, and with the options of the benchmark.
[[nodiscard]] std::string BenchJson(const BenchConditions& conditions,
                                    const pipeline::BenchOptions& options,
                                    const std::vector<pipeline::BenchRow>& rows);

}  // namespace millrace::service
