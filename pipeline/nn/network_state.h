// The weights that a network has learned, and all other state that it needs to continue exactly.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"
#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

/// One layer's state, independent of how the network is cut into stages.
struct LayerState {
  /// In the order of Layer::parameters() and Layer::buffers().
  std::vector<at::Tensor> parameters = {};
  std::vector<at::Tensor> buffers = {};
  /// For its parameters.
  OptimizerState optimizer = {};
};

/// The state of the whole network after one sample.
struct NetworkState {
  /// The last sample of the stream that the network learned from or skipped.
  std::int64_t sample = -1;
  /// In the order of the chain.
  std::vector<LayerState> layers = {};
};

/// Copies of the layer's parameters and buffers, on the CPU, without an optimizer state.
[[nodiscard]] LayerState ValuesOf(const Layer& layer);

/// Sets the layer's parameters and buffers to these values, as RestoreValues() of tensors.
void RestoreValues(const LayerState& state, const Layer& layer);

/// Sets the chain's parameters and buffers to these values, as RestoreValues() of tensors.
/// REQUIRES: no thread uses the chain; `layers` has the chain's layers.
void RestoreValues(const std::vector<LayerState>& layers, const LayerChain& chain);

/// Whether all values are finite, so that the state may be restored.
[[nodiscard]] bool AllFinite(const NetworkState& state);

}  // namespace millrace::pipeline
