// What a stage computes of one sample, wherever its tensors come from and go to.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/stage.h"
#include "pipeline/nn/stage_buffers.h"
#include "pipeline/stages/judge.h"

namespace millrace::pipeline {

/// What a forward reads and makes, and its backward needs.
struct ForwardMade {
  Tensors inputs = {};     ///< Leaves of the stage's graph.
  at::Tensor camera = {};  ///< For the stage's own loss.
  Tensors outputs = {};
  Tensors ends = {};  ///< Of the graph: the outputs, or the stage's own loss.
  Measured measured = {};
};

/// For the thread of the stage.
class StageWork {
 public:
  struct Options {
    int number = 1;
    const Stage& stage;
    /// Of its own loss; null: it has none. Outlives this.
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

  /// Fills in what `made` has besides inputs and camera. `sample`: as the stream counts. Measures
  /// unless told not to.
  void GoForward(ForwardMade& made, std::int64_t sample, bool measure = true);
  /// The same for a backward: buffers are moved as if it were the first time.
  void GoForwardAgain(ForwardMade& made, std::int64_t sample) const;

  /// Whether the stage learns from what it made; for a stage with a loss of its own.
  [[nodiscard]] bool Decide(const ForwardMade& made, std::int64_t sample) const;

  /// Goes back from the ends, with one gradient for each, none where the end is a loss; adds to the
  /// parameters' gradients. Returns those of the inputs that want one. Keeps the graph if told to.
  [[nodiscard]] Tensors GoBackward(ForwardMade& made, const Tensors& gradients, bool keep_graph);

 private:
  [[nodiscard]] Tensors Forward(const ForwardMade& made, std::int64_t sample) const;
  void Measure(ForwardMade& made, std::int64_t sample) const;
  [[nodiscard]] Judgement JudgementOf(const ForwardMade& made, std::int64_t sample) const;

  const Options options_;
  StageBuffers buffers_;
  // What autograd is given of a sample. Members, because it takes no less than vectors.
  std::vector<at::Tensor> roots_;
  std::vector<at::Tensor> root_gradients_;
};

}  // namespace millrace::pipeline
