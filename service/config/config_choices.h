// Chooses a stream's schedule, stages and weights where its configuration leaves them out.
// camera_fit.h makes the choices that depend on the camera.
#pragma once

#include "service/config/config.h"

namespace millrace::service {

/// Sets the defaults of a file, before it is read: the settings that this file chooses are open,
/// and cameras decode in their own process.
void LeaveOpen(StreamConfig& defaults);

/// Chooses `schedule.kind`: auto, unless other keys exclude it.
void ChooseKind(StreamConfig& stream);

/// Chooses `schedule.stages`. REQUIRES: the kind is chosen.
void ChooseStages(StreamConfig& stream);

/// Chooses `model.smoothness`, as suits the network.
void ChooseSmoothness(StreamConfig& stream);

/// Chooses `model.weights`. The networks `refine` and `flow` start warm; other networks, and the
/// value `none`, mean random weights.
void ChooseWeights(StreamConfig& stream);

}  // namespace millrace::service
