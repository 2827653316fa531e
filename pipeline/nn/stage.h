// A run of consecutive layers, and the tensors that enter and leave it.
//
// The neighbour's output and every skip edge that crosses a cut are wires. A stage does not know
// where its wires lead; its owner connects them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// A tensor between two stages: the output for the neighbour, or a skip edge's output.
struct Wire {
  static constexpr int kNeighbour = -1;

  /// Index in LayerChain::skips, or kNeighbour.
  int edge = kNeighbour;
  /// The layers that make and read it. -1: the camera. One past the last layer: the prediction.
  int from = -1;
  int to = 0;
};

/// Layers `first` to `last` of a chain. Not thread-safe. The chain must outlive it.
class Stage {
 public:
  /// REQUIRES: 0 <= first <= last < layers.
  Stage(const LayerChain& chain, int first, int last);

  /// Its inputs and outputs, in the order of Forward()'s tensors: first the neighbour's, then the
  /// skip edges' by index.
  [[nodiscard]] const std::vector<Wire>& incoming() const { return incoming_; }
  [[nodiscard]] const std::vector<Wire>& outgoing() const { return outgoing_; }

  /// Runs the layers; autograd records them. With a `seed`, each layer's random numbers depend only
  /// on the seed and on the layer's number in the chain. Without it, they come from LibTorch's
  /// generator.
  [[nodiscard]] Tensors Forward(at::TensorList inputs,
                                std::optional<std::uint64_t> seed = std::nullopt) const;

  /// Its first and last layer, counted from 0 in the chain.
  [[nodiscard]] int first() const { return first_; }
  [[nodiscard]] int last() const { return last_; }

  [[nodiscard]] std::vector<at::Tensor> parameters() const;
  /// The other tensors that Forward() may change.
  [[nodiscard]] std::vector<at::Tensor> buffers() const;
  [[nodiscard]] std::vector<std::string> layer_names() const;
  /// Whether a CUDA graph can hold the work of all its layers.
  [[nodiscard]] bool capturable() const;

 private:
  // The skip edges that a layer reads or makes, as indices among the edges that touch the stage.
  struct Skips {
    std::vector<int> reads;
    std::vector<int> makes;
  };

  const LayerChain& chain_;
  const int first_;
  const int last_;
  std::vector<Wire> incoming_;
  std::vector<Wire> outgoing_;
  int skips_ = 0;  // The number of edges that touch the stage.
  std::vector<Skips> of_layers_;
  // For each incoming or outgoing wire except the neighbour's: the index of its skip edge.
  std::vector<int> skips_in_;
  std::vector<int> skips_out_;
};

/// The whole chain as one stage. REQUIRES: the chain has layers.
[[nodiscard]] Stage WholeChain(const LayerChain& chain);

}  // namespace millrace::pipeline
