// What a network is told of its outputs: the losses that it learns by.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// The network's output for a sample.
struct Judgement {
  std::int64_t sample = 0;
  const at::Tensor& input;
  const at::Tensor& output;
  /// The output was made, and the prediction handed over, before: this one is made again for the
  /// backward, with the weights of now.
  bool again = false;
};

/// Judges the network's output and, unless it is made again, hands the prediction over. Returns the
/// scalar to minimise, or an undefined tensor: then no stage learns from the sample. Called on the
/// last stage's thread, in the order of the samples.
using Judge = std::function<at::Tensor(const Judgement&)>;

/// The loss of a stage on its own output, for schedules without a gradient from behind: the scalar
/// that `stage` minimises for `sample`. Called on the stage's thread; stages call it at once.
using LocalObjective = std::function<at::Tensor(int stage, std::int64_t sample,
                                                const at::Tensor& input, const at::Tensor& output)>;

}  // namespace millrace::pipeline
