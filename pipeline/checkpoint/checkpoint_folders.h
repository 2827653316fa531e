// The folders that checkpoints are: found, looked at, kept, set aside and removed. Free of
// LibTorch: what is inside is for checkpoints.h.
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

/// The paths of the checkpoints in `folder`, newest first, complete or not. Others that stand
/// beside them are left alone.
[[nodiscard]] std::vector<std::string> CheckpointsIn(const std::string& folder);

/// Whether the checkpoint at `path` was written to its end; yes if the system cannot tell.
[[nodiscard]] bool IsComplete(const std::string& path);
/// Whether it was asked for, and stays until it is deleted; yes if the system cannot tell.
[[nodiscard]] bool IsKept(const std::string& path);
/// It stays until it is deleted. Fails as the system says.
[[nodiscard]] absl::Status Keep(const std::string& path);
/// It stays no longer than one that nobody asked for. Nothing happens where it was not kept.
void KeepNoLonger(const std::string& path);
/// The manifest first: what is left half removed is not complete. Fails as the system says, unless
/// there is nothing there.
[[nodiscard]] absl::Status RemoveCheckpoint(const std::string& path);

/// Removes what writers that were killed have left in `folder`. What stays is passed over all the
/// same. REQUIRES: nobody else writes there.
void RemoveLeftovers(const std::string& folder);

/// Fails with DATA_LOSS and FAILED_PRECONDITION as DecodeManifest(), naming the file. DATA_LOSS as
/// well if it is that of a checkpoint with another name.
[[nodiscard]] absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& path);
/// The bytes of one of its files. DATA_LOSS if it is missing or they are not those that were
/// written.
[[nodiscard]] absl::StatusOr<std::string> ReadStageFile(const std::string& path,
                                                        const StageFile& expected);
/// Whether all its files are there and whole: DATA_LOSS, naming the first that is not.
[[nodiscard]] absl::Status CheckWhole(const std::string& path);

/// Whether `status` says that a checkpoint cannot be read just now: it may be as whole as ever.
[[nodiscard]] bool IsUnreadable(const absl::Status& status);
/// OK if its manifest can be read and its files can be opened. Fails as ReadManifest() and
/// RegularFile::Open().
[[nodiscard]] absl::Status CheckReadable(const std::string& path);

/// A complete checkpoint, as it may be shown.
struct CheckpointInfo {
  std::string name;
  /// When it was written, since 1970.
  std::chrono::nanoseconds written{0};
  std::uint64_t bytes = 0;
  std::int64_t sample = 0;
  double score = 1;
  bool kept = false;
};
/// Of the one at `path`. Fails as ReadManifest().
[[nodiscard]] absl::StatusOr<CheckpointInfo> InfoOf(const std::string& path);
/// Those of `folder` that are complete and whose manifests can be read, newest first.
[[nodiscard]] std::vector<CheckpointInfo> ListCheckpoints(const std::string& folder);

/// "reset-20261125T193312.123Z": a name for SetAside(), by the time.
[[nodiscard]] std::string AsideName(const std::string& why);

/// Moves the checkpoints of `folder` after `sample`, -1: all, into a folder `name` inside it, where
/// nothing looks for them. Fails as the system says; those that were moved are moved back then.
absl::Status SetAside(const std::string& folder, std::int64_t sample, const std::string& name);
/// The same of the checkpoints at `paths`.
absl::Status SetAside(const std::string& folder, const std::vector<std::string>& paths,
                      const std::string& name);
/// Moves them back. What was written in their place is removed: the checkpoints after `sample`.
/// REQUIRES: SetAside(), of the same, has not failed.
void TakeBack(const std::string& folder, std::int64_t sample, const std::string& name);

/// Removes all but the newest `keep` of the folders in `folder` that have an AsideName(`why`). One
/// with a checkpoint that is kept stays.
void PruneAside(const std::string& folder, const std::string& why, std::size_t keep);

}  // namespace millrace::pipeline
