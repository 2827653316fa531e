// Converts checkpoints into messages of `millrace.v1`.
#pragma once

#include <string>

#include "millrace/v1/checkpoint_service.pb.h"
#include "pipeline/checkpoint/checkpoint_folders.h"

namespace millrace::service {

/// Writes the checkpoint `info` of the stream `stream` into `message`, which must be empty.
void ToMessage(const std::string& stream, const pipeline::CheckpointInfo& info,
               v1::Checkpoint& message);

}  // namespace millrace::service
