// Learners and their policies as messages of `millrace.v1`.
#pragma once

#include "millrace/v1/learner_service.pb.h"
#include "service/camera_stream.h"

namespace millrace::service {

/// Writes what the stream's learner is at this moment into `message`, which must be empty.
void ToMessage(const CameraStream& stream, v1::Learner& message);

/// What a kind does not use, and what is left 0 where 0 is not allowed, is as by default.
[[nodiscard]] pipeline::UpdatePolicyOptions PolicyOf(const v1::UpdatePolicy& message);

}  // namespace millrace::service
