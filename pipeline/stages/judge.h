// A stage's loss, and the decision whether the stage learns from a sample.
//
// The device measures and the host decides. So a measurement can be captured together with the
// forward, and the host waits only for the numbers that it decides by.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// A stage's output for a sample.
struct Judgement {
  int stage = 0;
  std::int64_t sample = 0;
  /// The camera's input.
  const at::Tensor& input;
  const at::Tensor& output;
};

/// The result of a loss. The tensors are valid until the sample's forward is over; a caller that
/// needs them longer must copy them.
struct Measured {
  /// The scalar to minimise. Undefined if the stage has nothing to learn.
  at::Tensor objective;
  /// Further values for the decision, without a graph.
  Tensors figures = {};
};

/// A loss and its decision. A stage makes its calls on its own thread, in the order of the samples;
/// several stages call concurrently.
struct Judge {
  /// False: the stage does not learn from the sample, and the sample is not measured if that costs
  /// time. Empty: true.
  std::function<bool(int stage, std::int64_t sample)> wanted = {};
  /// Measures an output. Called again if a backward repeats the forward with the current weights.
  std::function<Measured(const Judgement&)> measure;
  /// Decides whether the stage learns, and publishes the prediction. Called once for each wanted
  /// sample. Empty: it learns.
  std::function<bool(const Judgement&, const Measured&)> decide = {};
  /// Whether measure() reads only the two tensors.
  bool measures_tensors_alone = false;
};

/// A judge that minimises `loss`, measures nothing else, and always learns.
[[nodiscard]] inline Judge Minimising(std::function<at::Tensor(const Judgement&)> loss,
                                      bool of_tensors_alone = true) {
  return {.measure = [loss = std::move(loss)](const Judgement& made) -> Measured {
            return {.objective = loss(made)};
          },
          .measures_tensors_alone = of_tensors_alone};
}

}  // namespace millrace::pipeline
