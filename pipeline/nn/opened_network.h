// A network, and its tensors under names that mean something outside of Millrace.
#pragma once

#include "pipeline/nn/layer.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

struct OpenedNetwork {
  LayerChain chain;
  /// As PyTorch would name them, sharing memory with the layers. Of a file: parameters and buffers,
  /// as its state_dict() has them; of a name: parameters, by layer and number.
  NamedTensors state;
};

}  // namespace millrace::pipeline
