// The checkpoints of one stream, by name.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/config/config.h"

namespace millrace::service {

/// The stream's folder of checkpoints. FAILED_PRECONDITION if it keeps none.
[[nodiscard]] absl::StatusOr<std::string> CheckpointFolder(const StreamConfig& config);

/// Whether both keep their checkpoints in one folder, however each calls it.
[[nodiscard]] bool ShareAFolder(const StreamConfig& one, const StreamConfig& other);

/// Removes the folder of checkpoints of a stream that has been stopped, unless something is in it.
void RemoveFolderIfEmpty(const StreamConfig& config);

/// FAILED_PRECONDITION as CheckpointFolder(); NOT_FOUND, naming those there are, if there is no
/// complete checkpoint of that name.
[[nodiscard]] absl::StatusOr<pipeline::CheckpointInfo> FindCheckpoint(const StreamConfig& config,
                                                                      const std::string& name);

}  // namespace millrace::service
