// Converts the states of sources and learners into those of `millrace.v1`.
#pragma once

#include "millrace/v1/stream.pb.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

[[nodiscard]] v1::SourceState ToWire(ingest::SourceState state);
[[nodiscard]] v1::LearnerState ToWire(LearnerState state);
[[nodiscard]] v1::OverloadKind ToWire(OverloadKind kind);
[[nodiscard]] v1::DropReason ToWire(DropReason reason);

}  // namespace millrace::service
