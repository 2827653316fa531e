// The learner of labels as the service sees it: each frame of a camera is a sample.
//
// Puts a LabelLearner behind the interface that the service knows (learner.h): makes samples of
// pictures, measures the layers to cut the network where their costs are balanced, and describes
// what came of it. Free of LibTorch, like both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/label_learner.h"
#include "pipeline/learner.h"

namespace millrace::pipeline {

struct LabelStreamOptions {
  /// Its sample_shape is made from what follows. Without cuts the network is cut by measured cost.
  LabelLearnerOptions learner = {};
  /// Size of the pictures, in pixels.
  int width = 32;
  int height = 32;
  /// Whether the network sees them in grey or in colour.
  bool grey = true;
  /// Gives up making the learner, between two layers that are measured or built.
  std::stop_token stop = {};
};

/// A picture (red, green, blue bytes, rows first) as the network sees it: 0 to 1, channels first,
/// one channel of luma (ITU-R BT.601) or three.
[[nodiscard]] std::vector<float> SampleOf(std::span<const std::uint8_t> rgb, bool grey);

/// Fails as MakeLabelLearner() does, and with CANCELLED once `stop` is requested. The learner
/// predicts every picture and learns at each step whose window holds a label: LearnFromEvery() is
/// not for it.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Learner>> MakeLabelStreamLearner(
    const LabelStreamOptions& options, OnPrediction on_prediction);

}  // namespace millrace::pipeline
