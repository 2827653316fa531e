#include "pipeline/planner/partition.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/plural.h"
#include "pipeline/planner/min_max_partition.h"

namespace millrace::pipeline {
namespace {

double Slowness(const DeviceSpeeds& speeds, int stage) {
  return speeds.slowness.empty() ? 1 : speeds.slowness.at(stage);
}

// To `stage`, counted from 0, from the stage before, whose last layer is `layer`.
double CopyTime(const LayerProfile& layer, const DeviceSpeeds& speeds, int stage) {
  if (speeds.ms_per_byte.empty()) return layer.cost.copy;
  return layer.output_bytes * speeds.ms_per_byte.at(stage - 1);
}

// Returns the costs of a run of layers, from prefix sums.
class Chain {
 public:
  explicit Chain(const PartitionRequest& request) : request_(request) {
    for (const LayerProfile& layer : request.layers) {
      cost_.push_back(cost_.back() + layer.cost.total());
      weights_.push_back(weights_.back() + layer.weight_bytes);
      activations_.push_back(activations_.back() + layer.activation_bytes);
    }
  }

  [[nodiscard]] int length() const { return static_cast<int>(request_.layers.size()); }

  [[nodiscard]] StageHolds holds(int stage) const {
    return request_.holds.empty() ? StageHolds{} : request_.holds[stage];
  }

  // The bytes of a stage, counted from 0. An earlier first layer may have a smaller input.
  [[nodiscard]] RunLoad Bytes(int stage, int first, int end) const {
    const StageHolds held = holds(stage);
    const double floor = held.versions * (weights_[end] - weights_[first]) +
                         held.activations * (activations_[end] - activations_[first]);
    const double input = first > 0 ? request_.layers[first - 1].output_bytes : 0;
    return {.value = floor + held.inputs * input, .floor = floor};
  }

  // The time of a stage, or of the cut before it if that is longer.
  [[nodiscard]] RunLoad Time(int stage, int first, int end) const {
    const double limit = request_.memory_bytes.value_or(kInfinity);
    if (limit < kInfinity) {
      const RunLoad bytes = Bytes(stage, first, end);
      if (bytes.floor > limit) return {.value = kInfinity, .floor = kInfinity};
      if (bytes.value > limit) return {.value = kInfinity, .floor = 0};
    }
    const double time = (cost_[end] - cost_[first]) * Slowness(request_.speeds, stage);
    const double cut = stage > 0 ? CopyTime(request_.layers[first - 1], request_.speeds, stage) : 0;
    return {.value = std::max(time, cut), .floor = time};
  }

 private:
  const PartitionRequest& request_;
  // Sums over the layers before each layer.
  std::vector<double> cost_ = {0.0};
  std::vector<double> weights_ = {0.0};
  std::vector<double> activations_ = {0.0};
};

std::string BytesText(double bytes) {
  return absl::StrCat(static_cast<std::int64_t>(std::ceil(bytes)), " bytes");
}

// The fewest stages that fit, if all hold the same; -1 if no number of stages fits.
int MinStages(const Chain& chain, double limit) {
  const int never = chain.length() + 1;
  std::vector<int> fewest(chain.length() + 1, never);
  fewest[0] = 0;
  for (int end = 1; end <= chain.length(); ++end) {
    for (int first = end - 1; first >= 0; --first) {
      const RunLoad bytes = chain.Bytes(0, first, end);
      if (bytes.floor > limit) break;
      if (bytes.value <= limit) fewest[end] = std::min(fewest[end], fewest[first] + 1);
    }
  }
  return fewest.back() == never ? -1 : fewest.back();
}

// The layer that fits into no stage, even alone; -1 if every layer fits somewhere.
int LayerThatNeverFits(const Chain& chain, int stages, double limit) {
  for (int layer = 0; layer < chain.length(); ++layer) {
    bool fits = false;
    for (int stage = 0; stage < stages; ++stage) {
      fits |= chain.Bytes(stage, layer, layer + 1).value <= limit;
    }
    if (!fits) return layer;
  }
  return -1;
}

absl::Status DoesNotFit(const PartitionRequest& request, const Chain& chain) {
  const double limit = request.memory_bytes.value_or(kInfinity);
  const int layer = LayerThatNeverFits(chain, request.stages, limit);
  if (layer >= 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("layer ", layer, " (", request.layers[layer].name, ") needs ",
                     BytesText(chain.Bytes(request.stages - 1, layer, layer + 1).value),
                     " even alone on a device, which has ", BytesText(limit)));
  }
  const MinMaxPartition best = FindMinMaxPartition(
      chain.length(), request.stages,
      [&](int stage, int first, int end) { return chain.Bytes(stage, first, end); });
  std::string message =
      absl::StrCat("the layers do not fit into ", Plural(request.stages, "device"), " of ",
                   BytesText(limit), ": the fullest needs ", BytesText(best.maximum), " at least");
  const bool alike = std::all_of(request.holds.begin(), request.holds.end(),
                                 [&](const auto& holds) { return holds == request.holds[0]; });
  const int fewest = alike ? MinStages(chain, limit) : -1;
  if (fewest > request.stages) absl::StrAppend(&message, "; ", fewest, " devices would do");
  return absl::ResourceExhaustedError(message);
}

}  // namespace

int StageOfLayer(const Cuts& cuts, int layer) {
  if (layer < 0) return 0;
  return 1 + static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), layer) - cuts.begin());
}

absl::StatusOr<Cuts> BestCuts(const PartitionRequest& request) {
  const Chain chain(request);
  if (request.stages < 1 || request.stages > chain.length()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot cut ", Plural(chain.length(), "layer"),
                                                   " into ", Plural(request.stages, "stage"),
                                                   "; ask for 1 to ", chain.length()));
  }
  MILLRACE_CHECK(request.holds.empty() || static_cast<int>(request.holds.size()) == request.stages);
  MinMaxPartition best = FindMinMaxPartition(
      chain.length(), request.stages,
      [&](int stage, int first, int end) { return chain.Time(stage, first, end); });
  if (best.maximum == kInfinity) return DoesNotFit(request, chain);
  return std::move(best.begins);
}

absl::StatusOr<Cuts> BestCuts(const std::vector<StageCost>& layers, int stages) {
  PartitionRequest request{.layers = {}, .stages = stages};
  for (const StageCost& cost : layers) request.layers.push_back({.name = "", .cost = cost});
  return BestCuts(request);
}

std::vector<StageCost> StageCosts(const std::vector<StageCost>& layers, const Cuts& cuts) {
  std::vector<StageCost> costs(cuts.size() + 1);
  std::size_t stage = 0;
  for (int i = 0; i < static_cast<int>(layers.size()); ++i) {
    if (stage < cuts.size() && i == cuts[stage]) ++stage;
    costs[stage].forward += layers[i].forward;
    costs[stage].backward += layers[i].backward;
    costs[stage].weight_gradient += layers[i].weight_gradient;
    costs[stage].update += layers[i].update;
    costs[stage].copy = layers[i].copy;  // The copy of its last layer.
  }
  return costs;
}

std::vector<StageCost> StageCosts(const std::vector<LayerProfile>& layers, const Cuts& cuts,
                                  const DeviceSpeeds& speeds) {
  std::vector<StageCost> costs = StageCosts(CostsOf(layers), cuts);
  for (int stage = 0; stage < static_cast<int>(costs.size()); ++stage) {
    StageCost& cost = costs[stage];
    const double slowness = Slowness(speeds, stage);
    cost.forward *= slowness;
    cost.backward *= slowness;
    cost.weight_gradient *= slowness;
    cost.update *= slowness;
    if (stage > 0) {
      costs[stage - 1].copy = CopyTime(layers[cuts[stage - 1] - 1], speeds, stage);
    }
  }
  return costs;
}

std::vector<StageCost> CostsOf(const std::vector<LayerProfile>& layers) {
  std::vector<StageCost> costs;
  costs.reserve(layers.size());
  for (const LayerProfile& layer : layers) costs.push_back(layer.cost);
  return costs;
}

absl::StatusOr<Cuts> CutsInto(const std::vector<int>& layers_of_stages, int layers) {
  Cuts cuts;
  std::int64_t end = 0;
  bool fits = !layers_of_stages.empty();
  for (int of_stage : layers_of_stages) {
    fits = fits && of_stage > 0 && of_stage <= layers;
    end += of_stage;
    cuts.push_back(static_cast<int>(std::min<std::int64_t>(end, layers)));
  }
  if (fits && end == layers) {
    cuts.pop_back();
    return cuts;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("stages of ", absl::StrJoin(layers_of_stages, ","), " layers add up to ", end,
                   ": give each stage at least one layer, so that they add up to the ", layers,
                   " layers that there are"));
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
