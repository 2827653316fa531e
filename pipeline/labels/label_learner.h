// The learner of labels behind the service's interface (learner.h): each picture of a camera is a
// sample. Free of LibTorch.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

/// Measures the layers, and makes a StagedLabelLearner (staged_label_learner.h). Without cuts, the
/// network is cut by measured cost. Fails as StagedLabelLearner::MakeMeasured(). REQUIRES:
/// LabelTaskOptions::divergence, and no sample_shape.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Learner>> MakeLabelLearner(
    const LearnerOptions& options, const LabelTaskOptions& task, OnPrediction on_prediction,
    const LearnerHooks& hooks = {});

}  // namespace millrace::pipeline
