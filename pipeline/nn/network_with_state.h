// A network, and its tensors under names for users.
#pragma once

#include "pipeline/nn/layer.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

struct NetworkWithState {
  LayerChain chain;
  /// Tensors under PyTorch's names, sharing memory with the layers. A network from a file has
  /// parameters and buffers, as in its state_dict(). A built-in network has parameters, by layer
  /// and number.
  NamedTensors state;
};

}  // namespace millrace::pipeline
