// The learned state of layers as named tensors, for checkpoints and for other ranks.
#pragma once

#include <vector>

#include "pipeline/nn/network_state.h"
#include "pipeline/tensor_files/safetensors.h"

namespace millrace::pipeline {

/// Layers `first` to `end` - 1 of `layers`, by names such as "3.parameter.0". Names contain the
/// layer's number, because layers may share a name. Shares the tensors' memory.
[[nodiscard]] SafeTensors TensorsOf(const std::vector<LayerState>& layers, int first, int end);

/// The state of `layer` in TensorsOf(). Lists end at the first missing name. The caller must check
/// the shapes.
[[nodiscard]] LayerState LayerOf(const SafeTensors& file, int layer);

}  // namespace millrace::pipeline
