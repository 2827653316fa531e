// Learners and their policies as messages of `millrace.v1`.
#pragma once

#include "absl/status/statusor.h"
#include "millrace/v1/learner_service.pb.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// Writes what the stream's learner is at this moment into `message`, which must be empty.
void ToMessage(const CameraStream& stream, v1::Learner& message);

/// What is absent is as by default. INVALID_ARGUMENT, saying what is allowed, where the kind is
/// none or a value is out of range.
[[nodiscard]] absl::StatusOr<pipeline::UpdatePolicyOptions> PolicyOf(
    const v1::UpdatePolicy& message);

}  // namespace millrace::service
