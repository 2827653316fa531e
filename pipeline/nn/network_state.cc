#include "pipeline/nn/network_state.h"

#include <algorithm>

#include "pipeline/ops/finite.h"

namespace millrace::pipeline {

bool AllFinite(const NetworkState& state) {
  return std::all_of(state.layers.begin(), state.layers.end(), [](const LayerState& layer) {
    const auto& kept = layer.optimizer.of_parameters;
    return AllFinite(layer.parameters) && AllFinite(layer.buffers) &&
           std::all_of(kept.begin(), kept.end(), [](const auto& k) { return AllFinite(k); });
  });
}

}  // namespace millrace::pipeline
