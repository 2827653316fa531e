// What a network has learned, and all that it needs to go on learning exactly there.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

/// One layer: independent of how the network is cut.
struct LayerState {
  /// As Layer::parameters() and Layer::buffers() list them.
  std::vector<at::Tensor> parameters = {};
  std::vector<at::Tensor> buffers = {};
  /// Of its parameters.
  OptimizerState optimizer = {};
};

/// The whole network after the same sample.
struct NetworkState {
  /// The last sample of the stream that was learned from or passed over.
  std::int64_t sample = -1;
  /// In the order of the chain.
  std::vector<LayerState> layers = {};
};

/// Whether every number of it is finite: what may be gone back to.
[[nodiscard]] bool AllFinite(const NetworkState& state);

}  // namespace millrace::pipeline
