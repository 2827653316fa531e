// The computation of a stage for one sample, independent of where its tensors come from and go to.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/stage.h"
#include "pipeline/nn/stage_buffers.h"
#include "pipeline/stages/judge.h"

namespace millrace::pipeline {

/// The inputs and results of a forward that its backward needs.
struct ForwardMade {
  Tensors inputs = {};     ///< Leaves of the stage's graph.
  at::Tensor camera = {};  ///< For the stage's own loss.
  Tensors outputs = {};
  Tensors ends = {};  ///< The ends of the graph: the outputs, or the stage's own loss.
  Measured measured = {};
};

/// Computes forwards and backwards of a stage. For the stage's thread.
class StageWork {
 public:
  struct Options {
    int number = 1;
    const Stage& stage;
    /// The stage's own loss; null without one. Outlives this object.
    const Judge* judge = nullptr;
    bool by_mini_batch = false;
    std::uint64_t seed = 0;
  };

  /// REQUIRES: the stage outlives it.
  explicit StageWork(const Options& options);

  [[nodiscard]] bool has_own_loss() const { return options_.judge != nullptr; }
  /// Whether it runs the same operators on the same memory for every sample.
  [[nodiscard]] bool is_the_same_each_time() const {
    return buffers_.stay_in_place() && (!has_own_loss() || options_.judge->measures_tensors_alone);
  }
  [[nodiscard]] StageBuffers& buffers() { return buffers_; }
  [[nodiscard]] const Stage& stage() const { return options_.stage; }

  /// Computes all fields of `made` from its inputs and camera. `sample`: its number in the stream.
  /// Measures the loss if `measure`.
  void GoForward(ForwardMade& made, std::int64_t sample, bool measure = true);
  /// The same for a backward. This updates the buffers again; StageBuffers::Unmoved restores them.
  void GoForwardAgain(ForwardMade& made, std::int64_t sample) const;

  /// Whether the stage learns from the sample; for a stage with its own loss.
  [[nodiscard]] bool Decide(const ForwardMade& made, std::int64_t sample) const;

  /// Goes backward from the ends, with one gradient per end, or none if the end is a loss. Adds to
  /// the parameters' gradients. Returns the gradients of the inputs that want one. Keeps the graph
  /// if `keep_graph`.
  [[nodiscard]] Tensors GoBackward(ForwardMade& made, const Tensors& gradients, bool keep_graph);

 private:
  [[nodiscard]] Tensors Forward(const ForwardMade& made, std::int64_t sample) const;
  void Measure(ForwardMade& made, std::int64_t sample) const;
  [[nodiscard]] Judgement JudgementOf(const ForwardMade& made, std::int64_t sample) const;

  const Options options_;
  StageBuffers buffers_;
  // Autograd's arguments. Members, because it takes no less than vectors.
  std::vector<at::Tensor> roots_;
  std::vector<at::Tensor> root_gradients_;
};

}  // namespace millrace::pipeline
