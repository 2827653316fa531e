// A run of consecutive layers, and which tensors come into it and leave it.
//
// The neighbour's output and every skip edge that crosses a cut are wires. A stage does not know
// where its wires lead; who joins the stages does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// A tensor on its way from one stage to another: the output for the neighbour, or that of a skip
/// edge.
struct Wire {
  static constexpr int kNeighbour = -1;

  /// Index in LayerChain::skips, or kNeighbour.
  int edge = kNeighbour;
  /// The layers that make it and read it. -1: the camera. One past the last layer: the prediction.
  int from = -1;
  int to = 0;
};

/// Layers `first` to `last` of a chain. Not thread-safe. The chain must outlive it.
class Stage {
 public:
  /// REQUIRES: 0 <= first <= last < layers.
  Stage(const LayerChain& chain, int first, int last);

  /// What it reads and makes, in the order in which Forward() takes and returns tensors: the
  /// neighbour's first, then by skip edge.
  [[nodiscard]] const std::vector<Wire>& incoming() const { return incoming_; }
  [[nodiscard]] const std::vector<Wire>& outgoing() const { return outgoing_; }

  /// Runs the layers; autograd records them. With a `seed`, what each layer draws at random depends
  /// on the seed and the layer's number in the chain alone; without, it comes from LibTorch's
  /// generator.
  [[nodiscard]] Tensors Forward(at::TensorList inputs,
                                std::optional<std::uint64_t> seed = std::nullopt) const;

  /// Its layers, counted from 0 in the chain, both included.
  [[nodiscard]] int first() const { return first_; }
  [[nodiscard]] int last() const { return last_; }

  [[nodiscard]] std::vector<at::Tensor> parameters() const;
  /// What Forward() may change besides.
  [[nodiscard]] std::vector<at::Tensor> buffers() const;
  [[nodiscard]] std::vector<std::string> layer_names() const;

 private:
  // The skip edges that a layer reads or makes, as places among those that touch the stage.
  struct Skips {
    std::vector<int> reads;
    std::vector<int> makes;
  };

  // In the chain's precision.
  [[nodiscard]] LayerValues GoThrough(const Layer& layer, const LayerValues& inputs) const;

  const LayerChain& chain_;
  const int first_;
  const int last_;
  std::vector<Wire> incoming_;
  std::vector<Wire> outgoing_;
  int skips_ = 0;  // Edges that touch the stage.
  std::vector<Skips> of_layers_;
  // The place of each skip that comes in and goes out: of all wires but the neighbour's.
  std::vector<int> skips_in_;
  std::vector<int> skips_out_;
};

/// The whole chain as one stage. REQUIRES: it has layers.
[[nodiscard]] Stage WholeChain(const LayerChain& chain);

}  // namespace millrace::pipeline
