// The learner of labels as the service sees it: each frame of a camera is a sample.
//
// Puts a LabelLearner behind the interface that the service knows (learner.h): makes samples of
// pictures, measures the layers to cut the network where their costs are balanced, and describes
// what came of it. Free of LibTorch, like both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_learner_options.h"
#include "pipeline/learner/learner.h"

namespace millrace::pipeline {

/// A picture (red, green, blue bytes, rows first) as the network sees it: 0 to 1, channels first,
/// one channel of luma (ITU-R BT.601) or three.
[[nodiscard]] std::vector<float> SampleOf(std::span<const std::uint8_t> rgb, bool grey);

/// Fails as MakeLabelLearner() does, and with CANCELLED once `stop` is requested. The learner
/// predicts every picture and learns at each step whose window holds a label: LearnFromEvery() is
/// not for it.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Learner>> MakeLabelStreamLearner(
    const LabelStreamOptions& options, OnPrediction on_prediction);

}  // namespace millrace::pipeline
