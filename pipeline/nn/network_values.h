// Puts what a network has learned into another one of the same layers.
#pragma once

#include <vector>

#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"

namespace millrace::pipeline {

/// Gives the chain's parameters and buffers these values, past autograd, which takes no notice.
/// REQUIRES: nothing runs on the chain; `layers` are of the same layers.
void PutValues(const std::vector<LayerState>& layers, const LayerChain& chain);

}  // namespace millrace::pipeline
