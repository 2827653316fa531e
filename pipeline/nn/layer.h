// The network as an ordered list of layers, plus skip edges from a layer to a later one.
//
// This form can be cut into stages anywhere. A layer does not know where it runs. A skip edge
// becomes a portal, directly from the stage that makes its tensor to the stage that reads it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "pipeline/learner/precision.h"

namespace millrace::pipeline {

/// The tensors that one sample passes between layers. Up to eight need no allocation.
using Tensors = c10::SmallVector<at::Tensor, 8>;

/// A layer's inputs or outputs: the neighbour's tensor, and one tensor for every skip edge that
/// ends (inputs) or starts (outputs) at the layer. Skips are in the order of LayerChain::skips.
struct LayerValues {
  at::Tensor main;
  Tensors skips;
};

/// One layer. Forward() is a pure function of its inputs, parameters, buffers and LibTorch's random
/// numbers; autograd records it. Not thread-safe.
class Layer {
 public:
  virtual ~Layer() = default;

  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual LayerValues Forward(const LayerValues& inputs) const = 0;
  /// Leaves that require gradients, in a fixed order. May be empty.
  [[nodiscard]] virtual std::vector<at::Tensor> parameters() const { return {}; }
  /// The other tensors that a forward may change, such as the running means of a normalization.
  [[nodiscard]] virtual std::vector<at::Tensor> buffers() const { return {}; }
  /// Whether a CUDA graph can hold its work: it does not compute on the host or wait there.
  [[nodiscard]] virtual bool capturable() const { return true; }
};

/// A tensor from layer `from` to layer `to`, counted from 0. `to` > `from` + 1, or `to` = `from` +
/// 1 if the neighbour needs a layer's output twice.
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
