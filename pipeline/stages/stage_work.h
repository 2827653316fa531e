// The computation of a stage for one sample, independent of where its tensors come from and go to.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/stage.h"
#include "pipeline/nn/stage_buffers.h"
#include "pipeline/stages/loss.h"

namespace millrace::pipeline {

/// A forward's inputs and results, which its backward needs.
struct Activations {
  Tensors inputs = {};     ///< Leaves of the stage's graph.
  at::Tensor camera = {};  ///< For the stage's own loss.
  Tensors outputs = {};
  Tensors ends = {};  ///< The ends of the graph: the outputs, or the stage's own loss.
  LossValue loss = {};
};

/// Computes forwards and backwards of a stage. For the stage's thread.
class StageWork {
 public:
  struct Options {
    int number = 1;
    const Stage& stage;
    /// The stage's own loss; null without one. Outlives this object.
    Loss* loss = nullptr;
    bool by_mini_batch = false;
    std::uint64_t seed = 0;
  };

  /// REQUIRES: the stage outlives it.
  explicit StageWork(const Options& options);

  [[nodiscard]] bool has_own_loss() const { return options_.loss != nullptr; }
  /// Whether it runs the same operators on the same memory for every sample, as CUDA graphs need.
  [[nodiscard]] bool capturable() const {
    return buffers_.stay_in_place() && (!has_own_loss() || options_.loss->capturable());
  }
  [[nodiscard]] StageBuffers& buffers() { return buffers_; }
  [[nodiscard]] const Stage& stage() const { return options_.stage; }

  /// Computes all fields of `activations` from its inputs and camera. `sample`: its number in the
  /// stream. Computes the stage's own loss if `with_loss`.
  void Forward(Activations& activations, std::int64_t sample, bool with_loss = true);
  /// The same for a backward. This updates the buffers again; StageBuffers::Unmoved restores them.
  void RepeatForward(Activations& activations, std::int64_t sample) const;

  /// Publishes the prediction. Returns whether the stage learns from the sample. For a stage with
  /// its own loss.
  [[nodiscard]] bool OnPredicted(const Activations& activations, std::int64_t sample) const;

  /// Goes backward from the ends, with one gradient per end, or none if the end is a loss. Adds to
  /// the parameters' gradients. Returns the gradients of the inputs that want one. Keeps the graph
  /// if `keep_graph`.
  [[nodiscard]] Tensors Backward(Activations& activations, const Tensors& gradients,
                                 bool keep_graph);

 private:
  // The random numbers are the same for a repeated forward, and for all cuts of the network.
  [[nodiscard]] std::uint64_t SeedOf(std::int64_t sample) const;
  void SetEnds(Activations& activations, std::int64_t sample, bool with_loss) const;
  [[nodiscard]] StageOutput OutputOf(const Activations& activations, std::int64_t sample) const;

  const Options options_;
  StageBuffers buffers_;
  // Autograd's arguments. Members, because it takes no less than vectors.
  std::vector<at::Tensor> roots_;
  std::vector<at::Tensor> root_gradients_;
};

}  // namespace millrace::pipeline
