// Converts learners and their policies to and from messages of `millrace.v1`.
#pragma once

#include "absl/status/statusor.h"
#include "millrace/v1/learner_service.pb.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// Writes the current state of the stream's learner into `message`, which must be empty.
void ToMessage(const CameraStream& stream, v1::Learner& message);

/// Reads a policy; absent fields have their defaults. INVALID_ARGUMENT, listing the allowed values,
/// if the kind is missing or a value is out of range.
[[nodiscard]] absl::StatusOr<pipeline::UpdatePolicyOptions> PolicyOf(
    const v1::UpdatePolicy& message);

}  // namespace millrace::service
