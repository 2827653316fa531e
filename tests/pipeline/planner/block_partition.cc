#include "tests/pipeline/planner/block_partition.h"

#include <algorithm>
#include <cstdlib>

namespace millrace::pipeline {
namespace {

std::vector<double> Scaled(const std::vector<StageCost>& layers) {
  std::vector<double> costs;
  for (const StageCost& layer : layers) costs.push_back(layer.total());
  const auto [min, max] = std::minmax_element(costs.begin(), costs.end());
  const double offset = *min, range = *max - *min;
  for (double& cost : costs) cost = range > 0 ? (cost - offset) / range : 0;
  return costs;
}

std::vector<double> Sizes(const std::vector<double>& costs, const Cuts& cuts) {
  std::vector<double> sizes(cuts.size() + 1, 0.0);
  for (std::size_t block = 0; block < sizes.size(); ++block) {
    const int begin = block > 0 ? cuts[block - 1] : 0;
    const int end = block < cuts.size() ? cuts[block] : static_cast<int>(costs.size());
    for (int i = begin; i < end; ++i) sizes[block] += costs[i];
  }
  return sizes;
}

// Of the smallest blocks, the one closest to `largest`.
int SmallestNear(const std::vector<double>& sizes, int largest) {
  int smallest = -1;
  for (int block = 0; block < static_cast<int>(sizes.size()); ++block) {
    const bool closer = std::abs(block - largest) < std::abs(smallest - largest);
    if (smallest < 0 || sizes[block] < sizes[smallest] ||
        (sizes[block] == sizes[smallest] && closer)) {
      smallest = block;
    }
  }
  return smallest;
}

// Gives `smallest` the nearest layer of its neighbour on the side of `largest`. Returns that
// neighbour.
int Grow(Cuts& cuts, int smallest, int largest) {
  if (largest < smallest) {
    --cuts[smallest - 1];
    return smallest - 1;
  }
  ++cuts[smallest];
  return smallest + 1;
}

}  // namespace

Cuts BlockPartition(const std::vector<StageCost>& layers, int stages) {
  const std::vector<double> costs = Scaled(layers);
  const int length = static_cast<int>(costs.size());
  Cuts cuts;
  for (int block = 1; block < stages; ++block) cuts.push_back(length / stages * block);
  for (;;) {
    std::vector<double> sizes = Sizes(costs, cuts);
    const int largest =
        static_cast<int>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    const double largest_size = sizes[largest];
    // While the largest block keeps its layers, the other blocks move towards it.
    for (bool shrunk = false; !shrunk; sizes = Sizes(costs, cuts)) {
      const int smallest = SmallestNear(sizes, largest);
      if (largest_size <= sizes[smallest] + 1) return cuts;
      shrunk = Grow(cuts, smallest, largest) == largest;
    }
  }
}

double LargestBlock(const std::vector<StageCost>& layers, const Cuts& cuts) {
  std::vector<double> costs;
  for (const StageCost& layer : layers) costs.push_back(layer.total());
  const std::vector<double> sizes = Sizes(costs, cuts);
  return *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace millrace::pipeline
