#include "pipeline/planner/scattered_partition.h"

#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "pipeline/plan/copies.h"

namespace millrace::pipeline {
namespace {

// The device of each layer, and the resulting loads.
class Allocation {
 public:
  Allocation(const std::vector<StageCost>& layers, int devices)
      : layers_(layers), loads_(devices, 0.0), device_of_(layers.size(), -1) {}

  void Put(int layer, int device) {
    const double cost = layers_[layer].total();
    if (device_of_[layer] >= 0) loads_[device_of_[layer]] -= cost;
    device_of_[layer] = device;
    loads_[device] += cost;
  }

  [[nodiscard]] int LeastLoaded() const {
    return static_cast<int>(std::min_element(loads_.begin(), loads_.end()) - loads_.begin());
  }
  [[nodiscard]] int MostLoaded() const {
    return static_cast<int>(std::max_element(loads_.begin(), loads_.end()) - loads_.begin());
  }
  [[nodiscard]] double Largest() const { return loads_[MostLoaded()]; }
  [[nodiscard]] double cost(int layer) const { return layers_[layer].total(); }
  [[nodiscard]] double load(int device) const { return loads_[device]; }
  [[nodiscard]] int device_of(int layer) const { return device_of_[layer]; }
  [[nodiscard]] int length() const { return static_cast<int>(device_of_.size()); }
  [[nodiscard]] int devices() const { return static_cast<int>(loads_.size()); }

  [[nodiscard]] int Runs() const {
    int runs = 1;
    for (int i = 1; i < length(); ++i) runs += device_of_[i] != device_of_[i - 1];
    return runs;
  }

  [[nodiscard]] ScatteredPartition AsStages() const {
    ScatteredPartition stages{.cuts = {},
                              .device_of = {device_of_[0]},
                              .slowest = std::max(Largest(), MaxLinkLoad(layers_, device_of_))};
    for (int i = 1; i < length(); ++i) {
      if (device_of_[i] == device_of_[i - 1]) continue;
      stages.cuts.push_back(i);
      stages.device_of.push_back(device_of_[i]);
    }
    return stages;
  }

 private:
  const std::vector<StageCost>& layers_;
  std::vector<double> loads_;
  std::vector<int> device_of_;
};

Allocation LongestFirst(const std::vector<StageCost>& layers, int devices) {
  std::vector<int> by_cost(layers.size());
  std::iota(by_cost.begin(), by_cost.end(), 0);
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](int a, int b) { return layers[a].total() > layers[b].total(); });
  Allocation allocation(layers, devices);
  for (int layer : by_cost) allocation.Put(layer, allocation.LeastLoaded());
  return allocation;
}

Allocation Contiguous(const std::vector<StageCost>& layers, int devices, const Cuts& cuts) {
  Allocation allocation(layers, devices);
  int device = 0;
  for (int layer = 0; layer < allocation.length(); ++layer) {
    if (device < static_cast<int>(cuts.size()) && layer == cuts[device]) ++device;
    allocation.Put(layer, device);
  }
  return allocation;
}

// Whether the larger load of the pair falls clearly if `from` gives `amount` to `to`.
bool Helps(const Allocation& allocation, int from, int to, double amount) {
  const double slack = 1e-12 * allocation.load(from);
  return amount > slack && allocation.load(to) + amount < allocation.load(from) - slack;
}

// Moves a layer off the busiest device, or swaps it with a smaller layer of another device.
bool ImproveOnce(Allocation& allocation) {
  const int busiest = allocation.MostLoaded();
  for (int layer = 0; layer < allocation.length(); ++layer) {
    if (allocation.device_of(layer) != busiest) continue;
    const int to = allocation.LeastLoaded();
    if (Helps(allocation, busiest, to, allocation.cost(layer))) {
      allocation.Put(layer, to);
      return true;
    }
    for (int other = 0; other < allocation.length(); ++other) {
      const int owner = allocation.device_of(other);
      if (owner == busiest) continue;
      if (Helps(allocation, busiest, owner, allocation.cost(layer) - allocation.cost(other))) {
        allocation.Put(layer, owner);
        allocation.Put(other, busiest);
        return true;
      }
    }
  }
  return false;
}

// Gives `layer` to the device of `neighbour`, if that makes fewer runs and no load above
// `max_load`.
bool JoinsNeighbour(Allocation& allocation, int layer, int neighbour, double max_load) {
  if (neighbour < 0 || neighbour >= allocation.length()) return false;
  const int from = allocation.device_of(layer), to = allocation.device_of(neighbour);
  if (from == to || allocation.load(to) + allocation.cost(layer) > max_load) return false;
  const int runs = allocation.Runs();
  allocation.Put(layer, to);
  if (allocation.Runs() < runs) return true;
  allocation.Put(layer, from);
  return false;
}

// Joins runs as long as the largest load does not grow.
void JoinRuns(Allocation& allocation) {
  const double max_load = allocation.Largest() * (1 + 1e-12);
  for (bool joined = true; joined;) {
    joined = false;
    for (int layer = 0; layer < allocation.length(); ++layer) {
      joined |= JoinsNeighbour(allocation, layer, layer - 1, max_load);
      joined |= JoinsNeighbour(allocation, layer, layer + 1, max_load);
    }
  }
}

ScatteredPartition Improved(Allocation allocation) {
  while (ImproveOnce(allocation)) {
  }
  JoinRuns(allocation);
  return allocation.AsStages();
}

}  // namespace

absl::StatusOr<ScatteredPartition> Scatter(const std::vector<StageCost>& layers, int devices) {
  MILLRACE_ASSIGN_OR_RETURN(const Cuts cuts, BestCuts(layers, devices));
  const Allocation contiguous = Contiguous(layers, devices, cuts);
  ScatteredPartition best = contiguous.AsStages();
  for (const ScatteredPartition& other :
       {Improved(contiguous), Improved(LongestFirst(layers, devices))}) {
    const double slack = 1e-12 * best.slowest;
    const bool fewer = other.cuts.size() < best.cuts.size();
    if (other.slowest < best.slowest - slack || (other.slowest <= best.slowest && fewer)) {
      best = other;
    }
  }
  return best;
}

double ScatterBound(const std::vector<StageCost>& layers, int devices) {
  double largest = 0, total = 0;
  for (const StageCost& layer : layers) {
    largest = std::max(largest, layer.total());
    total += layer.total();
  }
  return std::max(largest, total / devices);
}

}  // namespace millrace::pipeline
