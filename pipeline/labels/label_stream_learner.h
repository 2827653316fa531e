// The learner of labels behind the service's interface (learner.h): each frame of a camera is a
// sample.
//
// It makes samples of pictures, measures the layers to balance the cuts, and describes the
// pipeline. Free of LibTorch, like learner.h and label_learner.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

/// A picture (red, green, blue bytes, rows first) as the network's input: 0 to 1, channels first,
/// one channel of luma (ITU-R BT.601) or three.
[[nodiscard]] std::vector<float> SampleOf(std::span<const std::uint8_t> rgb, bool grey);

/// Fails as MakeLabelLearner(). Without cuts, the network is cut by measured cost. The learner
/// predicts every picture and learns at each step whose window holds a label, so it ignores
/// LearnFromEvery(). REQUIRES: LabelTaskOptions::divergence, and no sample_shape.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Learner>> MakeLabelStreamLearner(
    const LearnerOptions& options, const LabelTaskOptions& task, OnPrediction on_prediction,
    const LearnerHooks& hooks = {});

}  // namespace millrace::pipeline
