// Finds, checks, keeps, sets aside and removes the folders of checkpoints. Free of LibTorch:
// checkpoints.h reads the tensors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/checkpoint/checkpoint_manifest.h"

namespace millrace::pipeline {

inline constexpr char kManifestFile[] = "manifest.json";

/// "checkpoint-000000001999".
[[nodiscard]] std::string CheckpointName(std::int64_t sample);

/// The paths of the checkpoints in `folder`, newest first, complete or not. Ignores other files.
[[nodiscard]] std::vector<std::string> CheckpointsIn(const std::string& folder);

/// Whether the checkpoint at `path` was written to its end; true if the system cannot tell.
[[nodiscard]] bool IsComplete(const std::string& path);
/// Whether the checkpoint is kept until a user deletes it; true if the system cannot tell.
[[nodiscard]] bool IsKept(const std::string& path);
/// Keeps the checkpoint until a user deletes it. Fails with the system's error.
[[nodiscard]] absl::Status Keep(const std::string& path);
/// Makes a kept checkpoint removable again, like a regular one. No effect on other checkpoints.
void KeepNoLonger(const std::string& path);
/// Removes the manifest first, so that a half-removed checkpoint is not complete. Fails with the
/// system's error, unless the path does not exist.
[[nodiscard]] absl::Status RemoveCheckpoint(const std::string& path);

/// Removes the files that killed writers have left in `folder`. Readers ignore any that remain.
/// REQUIRES: no other writer uses the folder.
void RemoveLeftovers(const std::string& folder);

/// Fails with DATA_LOSS and FAILED_PRECONDITION as DecodeManifest() does, naming the file. Fails
/// with DATA_LOSS as well if the manifest belongs to a checkpoint of another name.
[[nodiscard]] absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& path);
/// The bytes of one of its files. Fails with DATA_LOSS if the file is missing or its bytes have
/// changed.
[[nodiscard]] absl::StatusOr<std::string> ReadStageFile(const std::string& path,
                                                        const StageFile& expected);
/// Fails with DATA_LOSS unless all its files exist and are intact. The message names the first bad
/// file.
[[nodiscard]] absl::Status CheckWhole(const std::string& path);

/// Whether `status` means that a checkpoint cannot be read at the moment, but may be intact.
[[nodiscard]] bool IsUnreadable(const absl::Status& status);
/// OK if its manifest can be read and its files can be opened. Fails as ReadManifest() and
/// RegularFile::Open() do.
[[nodiscard]] absl::Status CheckReadable(const std::string& path);

/// A complete checkpoint, for display.
struct CheckpointInfo {
  std::string name;
  /// The time of writing, since 1970.
  std::chrono::nanoseconds written{0};
  std::uint64_t bytes = 0;
  std::int64_t sample = 0;
  double score = 1;
  bool kept = false;
};
/// The info of the checkpoint at `path`. Fails as ReadManifest() does.
[[nodiscard]] absl::StatusOr<CheckpointInfo> InfoOf(const std::string& path);
/// The complete checkpoints of `folder` with readable manifests, newest first.
[[nodiscard]] std::vector<CheckpointInfo> ListCheckpoints(const std::string& folder);

/// A name for SetAside(), by the time: "reset-20261125T193312.123Z".
[[nodiscard]] std::string AsideName(const std::string& why);

/// Moves the checkpoints of `folder` after `sample` (-1: all) into its subfolder `name`, where no
/// learner looks. On failure, moves them back and returns the system's error.
absl::Status SetAside(const std::string& folder, std::int64_t sample, const std::string& name);
/// Like the function above, for the checkpoints at `paths`.
absl::Status SetAside(const std::string& folder, const std::vector<std::string>& paths,
                      const std::string& name);
/// Moves the checkpoints after `sample` back, and removes newer ones that were written in their
/// place. REQUIRES: SetAside() with the same arguments has succeeded.
void TakeBack(const std::string& folder, std::int64_t sample, const std::string& name);

/// Removes the folders in `folder` that have an AsideName(`why`), except the newest `keep`. A
/// folder with a kept checkpoint stays.
void PruneAside(const std::string& folder, const std::string& why, std::size_t keep);

}  // namespace millrace::pipeline
