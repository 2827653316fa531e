// The network as an ordered list of layers, plus skip edges from a layer to a later one.
//
// This is the form that can be cut into stages anywhere: a layer knows nothing of where it runs,
// and a skip edge becomes a portal that goes straight from the stage that makes it to the stage
// that reads it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "pipeline/learner/precision.h"

namespace millrace::pipeline {

/// Tensors that go from hand to hand for every sample. So many take no memory of their own.
using Tensors = c10::SmallVector<at::Tensor, 8>;

/// What a layer reads or makes: the tensor for its neighbour, and one tensor for every skip edge
/// that ends (when reading) or starts (when making) at it, in the order of LayerChain::skips.
struct LayerValues {
  at::Tensor main;
  Tensors skips;
};

/// One layer. Forward() is a pure function of its inputs, parameters, buffers and what it draws at
/// random through LibTorch; autograd records it. Not thread-safe: one thread at a time.
class Layer {
 public:
  virtual ~Layer() = default;

  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual LayerValues Forward(const LayerValues& inputs) const = 0;
  /// Leaves that require gradients, in a fixed order. May be empty.
  [[nodiscard]] virtual std::vector<at::Tensor> parameters() const { return {}; }
  /// What a forward may change besides: running means of a normalization, say.
  [[nodiscard]] virtual std::vector<at::Tensor> buffers() const { return {}; }
};

/// One tensor that goes from layer `from` past its neighbour to layer `to`. Counted from 0; `to` >
/// `from` + 1 or, where a layer's output is needed twice, `to` = `from` + 1.
struct SkipEdge {
  int from = 0;
  int to = 0;
};

struct LayerChain {
  std::vector<std::unique_ptr<Layer>> layers;
  std::vector<SkipEdge> skips;
  Precision precision = Precision::kFloat32;
};

}  // namespace millrace::pipeline
