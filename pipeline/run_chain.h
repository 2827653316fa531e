// Runs a whole network on one thread, uncut: what the pipeline's stages do together.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/layer.h"

namespace millrace::pipeline {

/// The last layer's output for `input`, with autograd's record from end to end.
[[nodiscard]] at::Tensor RunChain(const LayerChain& chain, at::Tensor input);

/// The parameters of every layer, in order.
[[nodiscard]] std::vector<at::Tensor> ParametersOf(const LayerChain& chain);

}  // namespace millrace::pipeline
