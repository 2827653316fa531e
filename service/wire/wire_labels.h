// Converts results of labels into messages of `millrace.v1`.
#pragma once

#include "absl/status/status.h"
#include "millrace/v1/label_service.pb.h"
#include "service/frames/frame_labels.h"

namespace millrace::service {

[[nodiscard]] ClientLabel ToLabel(const v1::FrameLabel& message);

/// Writes the result of CameraStream::Label() into `message`, except the frame's number.
void ToMessage(const absl::Status& added, v1::LabelOutcome& message);

}  // namespace millrace::service
