#include "pipeline/partition.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {

absl::StatusOr<Cuts> BestCuts(const std::vector<StageCost>& layers, int stages) {
  const int n = static_cast<int>(layers.size());
  if (stages < 1 || stages > n) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot cut ", n, " layers into ", stages, " stages; ask for 1 to ", n));
  }
  std::vector<double> before(n + 1, 0.0);  // Cost of the layers before each one.
  for (int i = 0; i < n; ++i) before[i + 1] = before[i] + layers[i].total();

  // best[s][i]: the least maximum with the first i layers in s stages; cut[s][i]: where the last
  // starts.
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(n + 1, kNever));
  std::vector<std::vector<int>> cut(stages + 1, std::vector<int>(n + 1, 0));
  best[0][0] = 0;
  for (int s = 1; s <= stages; ++s) {
    for (int i = s; i <= n; ++i) {
      for (int start = s - 1; start < i; ++start) {
        const double slowest = std::max(best[s - 1][start], before[i] - before[start]);
        if (slowest < best[s][i]) {
          best[s][i] = slowest;
          cut[s][i] = start;
        }
      }
    }
  }

  Cuts cuts(stages - 1);
  for (int s = stages, i = n; s > 1; --s) cuts[s - 2] = i = cut[s][i];
  return cuts;
}

std::vector<StageCost> StageCosts(const std::vector<StageCost>& layers, const Cuts& cuts) {
  std::vector<StageCost> costs(cuts.size() + 1);
  std::size_t stage = 0;
  for (int i = 0; i < static_cast<int>(layers.size()); ++i) {
    if (stage < cuts.size() && i == cuts[stage]) ++stage;
    costs[stage].forward += layers[i].forward;
    costs[stage].backward += layers[i].backward;
    costs[stage].update += layers[i].update;
    costs[stage].copy = layers[i].copy;  // Of its last layer.
  }
  return costs;
}

absl::Status CheckCuts(const Cuts& cuts, int layers) {
  int previous = 0;
  for (int cut : cuts) {
    if (cut <= previous || cut >= layers) {
      return absl::InvalidArgumentError(
          absl::StrCat("cut ", cut,
                       " is not allowed: each cut is the first layer of a stage, counted from 0, "
                       "so cuts rise from at least 1 to at most ",
                       layers - 1));
    }
    previous = cut;
  }
  return absl::OkStatus();
}

}  // namespace millrace::pipeline
