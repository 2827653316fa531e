// Options of a task of labels. Free of LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/decisions/divergence_detector.h"
#include "pipeline/decisions/sample_label.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

/// The limits of bad weights for a learner of labels. Weights are bad if outputs are not finite, or
/// if the window's loss is high compared with all-zero outputs. The limit is loose, because a model
/// that is often sure and sometimes wrong has a large loss, but may be useful.
inline constexpr DivergenceOptions kLabelDivergence = {.max_loss = 3};

/// "mlp": fully connected layers with ReLUs. "convolutional": 3x3 convolutions with ReLUs, with the
/// size halved twice, then means over space and a fully connected layer.
[[nodiscard]] inline const std::vector<std::string>& LabelNetworkNames() {
  static const std::vector<std::string> names = {"mlp", "convolutional"};
  return names;
}

/// The network that learns classes or values, and its samples. LearnerOptions has all other
/// options. The learner runs on the CPU.
struct LabelTaskOptions {
  /// A network that torch.jit saved; its top-level children are the layers. Empty: uses `network`.
  std::string model = {};
  /// One of LabelNetworkNames(), with `layers` layers of `width` numbers or channels each.
  std::string network = "mlp";
  int layers = 10;
  int width = 64;
  /// The shape of one sample, without the dimension of the window. Empty: the learner's pictures.
  std::vector<std::int64_t> sample_shape = {};
  /// Whether the network sees the pictures in grey or in colour.
  bool grey = true;
  LabelTask task = LabelTask::kClassification;
  /// Classes, or values to predict: the network makes [window, outputs].
  int outputs = 10;
  /// The names of the classes, one each; or empty.
  std::vector<std::string> classes = {};
  /// W: the samples of each step. 1: online learning, each sample alone.
  int window = 1;
  /// Rolls bad weights back and keeps checkpoints. nullopt: bad weights stay, as in the papers, and
  /// LearnerOptions::copy_every and checkpoints have no effect.
  std::optional<DivergenceOptions> divergence = {};
};

/// The shape of one sample: [channels, height, width] of a picture, unless the task sets another.
[[nodiscard]] inline std::vector<std::int64_t> SampleShape(const LearnerOptions& options,
                                                           const LabelTaskOptions& task) {
  if (!task.sample_shape.empty()) return task.sample_shape;
  return {task.grey ? 1 : 3, options.height, options.width};
}

/// The number of values in a sample of `shape`.
[[nodiscard]] inline std::int64_t NumbersOf(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace millrace::pipeline
