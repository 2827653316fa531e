// What a stream chooses for itself where its entry says nothing: schedule, stages and weights. What
// it leaves to its camera is in camera_fit.h.
#pragma once

#include "service/config/config.h"

namespace millrace::service {

/// Takes back the defaults that hold in code, of what is chosen here: before a file is read.
void LeaveOpen(StreamConfig& defaults);

/// `schedule.kind`: auto, unless other keys or the task speak against it.
void ChooseKind(StreamConfig& stream);

/// `schedule.stages`. REQUIRES: the kind is chosen.
void ChooseStages(StreamConfig& stream);

/// `model.weights`: the network `flow` starts warm, and others from random weights, as with `none`.
void ChooseWeights(StreamConfig& stream);

}  // namespace millrace::service
