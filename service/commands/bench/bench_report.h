// What `millrace bench` found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "pipeline/offline/bench.h"

namespace millrace::service {

/// What to doubt a result by.
struct BenchConditions {
  int cores = 0;
  /// Of the last minute.
  double load_average = 0;
  /// Empty: unknown.
  std::string cpu;
};

/// Those of now.
[[nodiscard]] BenchConditions PresentConditions();

/// "2 cores of an Intel Xeon, load average 0.12".
[[nodiscard]] std::string ConditionsText(const BenchConditions& conditions);

/// A row a contender; ratios are to the first row of the same network. REQUIRES: turns in each.
[[nodiscard]] std::string BenchTable(const std::vector<pipeline::BenchRow>& rows);

/// The same with every turn, and what it was asked for.
[[nodiscard]] std::string BenchJson(const BenchConditions& conditions,
                                    const pipeline::BenchOptions& options,
                                    const std::vector<pipeline::BenchRow>& rows);

}  // namespace millrace::service
