// Our types as messages of `millrace.v1`.
//
// The only translation between the two; the messages' own comments say what each field means.
#pragma once

#include "millrace/v1/prediction.pb.h"
#include "millrace/v1/stream.pb.h"
#include "service/camera_stream.h"
#include "service/prediction.h"

namespace millrace::service {

/// Whether a message carries the flow, the bulk of it.
enum class WithFlow { kNo, kYes };

/// Writes `prediction` into `message`, which must be empty. Copies the flow's bytes.
void ToMessage(const Prediction& prediction, WithFlow with_flow, v1::Prediction& message);

/// Writes what `stream` is at this moment into `message`, which must be empty.
void ToMessage(const CameraStream& stream, v1::Stream& message);

}  // namespace millrace::service
