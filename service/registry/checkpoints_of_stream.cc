#include "service/registry/checkpoints_of_stream.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "base/truncate.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

absl::StatusOr<std::string> CheckpointFolder(const StreamConfig& config) {
  if (std::string folder = config.learner.checkpoints.folder; !folder.empty()) return folder;
  return WithReason(
      "NO_CHECKPOINTS_KEPT", {{"stream", config.name}},
      absl::FailedPreconditionError(absl::StrCat(
          "stream '", config.name, "' keeps no checkpoints; set checkpoints.folder to keep some")));
}

bool ShareAFolder(const StreamConfig& one, const StreamConfig& other) {
  const std::string folder = one.learner.checkpoints.folder;
  const std::string other_folder = other.learner.checkpoints.folder;
  if (folder.empty() || other_folder.empty()) return false;
  std::error_code missing;  // Paths that do not exist yet are not equal.
  return folder == other_folder || std::filesystem::equivalent(folder, other_folder, missing);
}

// rmdir() removes only an empty folder, even if a file appears meanwhile.
void RemoveFolderIfEmpty(const StreamConfig& config) {
  const std::string folder = config.learner.checkpoints.folder;
  if (folder.empty() || rmdir(folder.c_str()) != 0) return;
  spdlog::info("stream '{}': its folder of checkpoints was empty, and is removed", config.name);
}

absl::StatusOr<pipeline::CheckpointInfo> FindCheckpoint(const StreamConfig& config,
                                                        const std::string& name) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string folder, CheckpointFolder(config));
  const std::vector<pipeline::CheckpointInfo> all = pipeline::ListCheckpoints(folder);
  for (const pipeline::CheckpointInfo& info : all) {
    if (info.name == name) return info;
  }
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const pipeline::CheckpointInfo& info : all) names.push_back(info.name);
  return WithReason("CHECKPOINT_NOT_FOUND", {{"stream", config.name}, {"name", name}},
                    absl::NotFoundError(
                        absl::StrCat("stream '", config.name, "' has no checkpoint '", name, "'; ",
                                     all.empty() ? "it keeps no checkpoint yet"
                                                 : absl::StrCat("there are ", ShortList(names)))));
}

}  // namespace millrace::service
