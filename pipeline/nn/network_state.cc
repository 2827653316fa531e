#include "pipeline/nn/network_state.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "pipeline/nn/tensor_snapshot.h"
#include "pipeline/ops/finite.h"

namespace millrace::pipeline {

LayerState ValuesOf(const Layer& layer) {
  return {.parameters = CopiesOnHost(layer.parameters()), .buffers = CopiesOnHost(layer.buffers())};
}

void RestoreValues(const LayerState& state, const Layer& layer) {
  const std::string name = absl::StrCat("layer \"", layer.name(), "\", ");
  RestoreValues(state.parameters, layer.parameters(), name + "parameter");
  RestoreValues(state.buffers, layer.buffers(), name + "buffer");
}

void RestoreValues(const std::vector<LayerState>& layers, const LayerChain& chain) {
  MILLRACE_CHECK(layers.size() == chain.layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) RestoreValues(layers[i], *chain.layers[i]);
}

bool AllFinite(const NetworkState& state) {
  return std::all_of(state.layers.begin(), state.layers.end(), [](const LayerState& layer) {
    const auto& kept = layer.optimizer.of_parameters;
    return AllFinite(layer.parameters) && AllFinite(layer.buffers) &&
           std::all_of(kept.begin(), kept.end(), [](const auto& k) { return AllFinite(k); });
  });
}

}  // namespace millrace::pipeline
