// The flow of a prediction, over the pictures that it relates.
#pragma once

#include <optional>

#include "pipeline/learner/flow_uncertainty.h"
#include "service/frames/prediction.h"

namespace millrace::service {

/// nullopt if `model` has no flow, or the frame has no picture before it. Refers to the arguments.
/// `next_frame`: see Prediction::next_frame.
[[nodiscard]] std::optional<pipeline::FlowOverPictures> FlowOverPicturesOf(
    const pipeline::ModelPrediction& model, const ingest::Picture* previous,
    const ingest::Picture& newest, bool next_frame);

/// As the first one. Refers to `prediction`.
[[nodiscard]] std::optional<pipeline::FlowOverPictures> FlowOverPicturesOf(
    const Prediction& prediction);

}  // namespace millrace::service
