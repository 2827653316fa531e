// Copies learned weights into another network with the same layers.
#pragma once

#include <vector>

#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"

namespace millrace::pipeline {

/// Sets the chain's parameters and buffers to these values, invisibly to autograd. REQUIRES: no
/// thread uses the chain; `layers` has the chain's layers.
void PutValues(const std::vector<LayerState>& layers, const LayerChain& chain);

}  // namespace millrace::pipeline
