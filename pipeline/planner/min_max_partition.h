// The dynamic program behind exact cuts: cuts a sequence into runs whose largest load is smallest.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace millrace::pipeline {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The load of one run.
struct RunLoad {
  double value = 0;  ///< kInfinity: not allowed.
  double floor = 0;  ///< A lower bound of all runs with the same end and an earlier begin.
};

/// The begins of runs 2, 3 ..., and the maximum of all loads: kInfinity if no partition is allowed.
struct MinMaxPartition {
  std::vector<int> begins;
  double maximum = kInfinity;
};

/// Cuts 0 .. length - 1 into `runs` runs. `load(run, first, end)` is the load of run 0, 1 ... over
/// the elements from `first` up to `end` (not included). Of equal results, it takes the earliest
/// begins.
///
/// best[r][e] = min over b of max(best[r - 1][b], load(r - 1, b, e)): O(runs * length^2), less
/// where floors end the search early. REQUIRES: 1 <= runs <= length.
template <typename Load>
MinMaxPartition FindMinMaxPartition(int length, int runs, const Load& load) {
  std::vector<std::vector<double>> best(runs + 1, std::vector<double>(length + 1, kInfinity));
  std::vector<std::vector<int>> begin(runs + 1, std::vector<int>(length + 1, 0));
  best[0][0] = 0;
  const auto fill = [&](int run, int end) {
    for (int first = end - 1; first >= run - 1; --first) {
      const RunLoad of_run = load(run - 1, first, end);
      if (of_run.floor > best[run][end] || of_run.floor == kInfinity) return;
      const double maximum = std::max(best[run - 1][first], of_run.value);
      if (maximum > best[run][end]) continue;
      best[run][end] = maximum;
      begin[run][end] = first;
    }
  };
  for (int run = 1; run <= runs; ++run) {
    for (int end = run; end <= length - (runs - run); ++end) fill(run, end);
  }
  MinMaxPartition found{.begins = std::vector<int>(runs - 1), .maximum = best[runs][length]};
  for (int run = runs, end = length; run > 1; --run) found.begins[run - 2] = end = begin[run][end];
  return found;
}

}  // namespace millrace::pipeline
