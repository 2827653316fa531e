// What a stage is told of its outputs: the loss that it learns by, and whether it learns.
//
// Measuring is the device's affair and deciding the host's: what is measured can be captured with
// the forward, and the host waits for nothing but the numbers that it decides by.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// What a stage made of a sample.
struct Judgement {
  int stage = 0;
  std::int64_t sample = 0;
  /// What the camera gave.
  const at::Tensor& input;
  const at::Tensor& output;
};

/// What a loss found. The tensors are those of the sample until its forward is over: who wants them
/// longer copies them.
struct Measured {
  /// The scalar to minimise. Undefined: there is nothing to learn.
  at::Tensor objective;
  /// What decides besides, without a graph.
  Tensors figures = {};
};

/// A loss, and who decides by it. What a stage calls comes on its thread, in the order of the
/// samples; stages call at once.
struct Judge {
  /// False: the sample teaches the stage nothing, and is not measured where that costs something.
  /// Empty: true.
  std::function<bool(int stage, std::int64_t sample)> wanted = {};
  /// Measures an output, again for a backward that goes forward again with the weights of now.
  std::function<Measured(const Judgement&)> measure;
  /// Decides whether the stage learns, and hands the prediction over. Once for each sample that was
  /// wanted. Empty: it does.
  std::function<bool(const Judgement&, const Measured&)> decide = {};
  /// measure() reads nothing but the two tensors.
  bool measures_tensors_alone = false;
};

/// Measures nothing else, and always learns.
[[nodiscard]] inline Judge Minimising(std::function<at::Tensor(const Judgement&)> loss,
                                      bool of_tensors_alone = true) {
  return {.measure = [loss = std::move(loss)](const Judgement& made) -> Measured {
            return {.objective = loss(made)};
          },
          .measures_tensors_alone = of_tensors_alone};
}

}  // namespace millrace::pipeline
