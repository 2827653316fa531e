// The checkpoints of one stream, by name.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/config/config.h"

namespace millrace::service {

/// The stream's folder of checkpoints. FAILED_PRECONDITION if the stream keeps no checkpoints.
[[nodiscard]] absl::StatusOr<std::string> CheckpointFolder(const StreamConfig& config);

/// Whether both streams use the same folder of checkpoints, even under different paths.
[[nodiscard]] bool ShareAFolder(const StreamConfig& one, const StreamConfig& other);

/// Removes the folder of checkpoints of a stopped stream if the folder is empty.
void RemoveFolderIfEmpty(const StreamConfig& config);

/// Finds the complete checkpoint `name`. Fails with FAILED_PRECONDITION as CheckpointFolder() does.
/// Fails with NOT_FOUND, listing the existing checkpoints, if there is no such checkpoint.
[[nodiscard]] absl::StatusOr<pipeline::CheckpointInfo> FindCheckpoint(const StreamConfig& config,
                                                                      const std::string& name);

}  // namespace millrace::service
