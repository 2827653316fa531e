#include "pipeline/checkpoint/checkpoint_folders.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/atomic_file.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pipeline/checkpoint/checksum.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "checkpoint-";
constexpr char kKeptFile[] = "kept";
constexpr char kAsideTime[] = "%E4Y%m%dT%H%M%E3SZ";
/// Enough for the shapes of a million layers.
constexpr std::uint64_t kMaxManifestBytes = 64 << 20;
/// Two billion weights, and as many numbers of an optimizer.
constexpr std::uint64_t kMaxStageBytes = std::uint64_t{16} << 30;

std::chrono::nanoseconds WrittenAt(const std::string& path) {
  std::error_code ignored;
  const auto time = fs::last_write_time(fs::path(path) / kManifestFile, ignored);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::file_clock::to_sys(time).time_since_epoch());
}

/// False only if `path` certainly does not exist.
bool MayExist(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) || error;
}

absl::Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", path.string()));
}

absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot move ", from.string(), " to ", to.string()));
}

/// The paths of the checkpoints after `sample`, newest first; -1: of all.
std::vector<std::string> CheckpointsAfter(const std::string& folder, std::int64_t sample) {
  std::vector<std::string> paths = CheckpointsIn(folder);
  if (sample < 0) return paths;
  const std::string last = absl::StrCat(folder, "/", CheckpointName(sample));
  std::erase_if(paths, [&last](const std::string& path) { return path <= last; });
  return paths;
}

/// True if the system cannot tell.
bool HoldsOneToKeep(const fs::path& aside) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(aside, error)) {
    if (IsKept(entry.path())) return true;
  }
  return static_cast<bool>(error);
}

void MoveBack(const std::string& folder, const std::string& name) {
  const std::string aside = absl::StrCat(folder, "/", name);
  for (const std::string& path : CheckpointsIn(aside)) {
    Move(path, fs::path(folder) / fs::path(path).filename()).IgnoreError();
  }
  std::error_code ignored;
  fs::remove(aside, ignored);  // Fails if the folder is not empty.
}

}  // namespace

std::string CheckpointName(std::int64_t sample) {
  return absl::StrFormat("%s%012d", kPrefix, sample);
}

std::vector<std::string> CheckpointsIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    std::int64_t sample = 0;
    const bool numbered = absl::StartsWith(name, kPrefix) &&
                          absl::SimpleAtoi(name.substr(sizeof(kPrefix) - 1), &sample);
    if (numbered && name == CheckpointName(sample)) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), std::greater<>());  // All numbers have the same length.
  for (std::string& name : names) name = absl::StrCat(folder, "/", name);
  return names;
}

bool IsComplete(const std::string& folder) { return MayExist(fs::path(folder) / kManifestFile); }

absl::Status RemoveCheckpoint(const std::string& folder) {
  std::error_code error;
  fs::remove(fs::path(folder) / kManifestFile, error);
  if (!error) fs::remove_all(folder, error);
  if (!error || error == std::errc::not_a_directory) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", folder));
}

void RemoveLeftovers(const std::string& folder) {
  for (const std::string& path : CheckpointsIn(folder)) {
    if (!IsComplete(path)) RemoveCheckpoint(path).IgnoreError();
  }
  // Files of CheckWritable().
  std::vector<fs::path> temporary;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, absl::StrCat(kManifestFile, ".")) && absl::EndsWith(name, ".tmp")) {
      temporary.push_back(entry.path());
    }
  }
  for (const fs::path& path : temporary) fs::remove(path, ignored);
}

absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kManifestFile);
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxManifestBytes));
  absl::StatusOr<CheckpointManifest> manifest = DecodeManifest(text);
  if (!manifest.ok()) {
    return absl::Status(manifest.status().code(),
                        absl::StrCat(path, " cannot be used: ", manifest.status().message()));
  }
  const std::string name = CheckpointName(manifest->sample);
  if (name == fs::path(folder).filename()) return manifest;
  return absl::DataLossError(absl::StrCat(path, " is the manifest of ", name));
}

absl::StatusOr<std::string> ReadStageFile(const std::string& folder, const StageFile& expected) {
  const std::string path = absl::StrCat(folder, "/", expected.name);
  if (expected.bytes > kMaxStageBytes) {
    return absl::DataLossError(absl::StrCat("the manifest says that ", path, " has ",
                                            expected.bytes, " bytes, more than a stage may have"));
  }
  if (!MayExist(path)) return absl::DataLossError(absl::StrCat(path, " is missing"));
  const absl::StatusOr<RegularFile> file = RegularFile::Open(path);
  MILLRACE_RETURN_IF_ERROR(NamingFile(file.status(), path));
  // Checked before reading, because the file may have any length.
  if (static_cast<std::uint64_t>(file->info().st_size) != expected.bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", file->info().st_size, " bytes where ",
                                            expected.bytes, " were written"));
  }
  absl::StatusOr<std::string> bytes = file->Read(expected.bytes);
  MILLRACE_RETURN_IF_ERROR(NamingFile(bytes.status(), path));
  if (Checksum(*bytes) != expected.checksum) {
    return absl::DataLossError(absl::StrCat(path, " has a wrong checksum"));
  }
  return bytes;
}

bool IsKept(const std::string& path) { return MayExist(fs::path(path) / kKeptFile); }

absl::Status Keep(const std::string& path) {
  return WriteFileAtomically(absl::StrCat(path, "/", kKeptFile), "");
}

void KeepNoLonger(const std::string& path) {
  std::error_code ignored;  // If the file stays, the checkpoint stays kept, and no data is lost.
  fs::remove(fs::path(path) / kKeptFile, ignored);
}

absl::Status CheckWhole(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(path));
  for (const StageFile& file : manifest.stages) {
    MILLRACE_RETURN_IF_ERROR(ReadStageFile(path, file).status());
  }
  return absl::OkStatus();
}

bool IsUnreadable(const absl::Status& status) {
  return !status.ok() && !absl::IsDataLoss(status) && !absl::IsFailedPrecondition(status);
}

absl::Status CheckReadable(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(path));
  for (const StageFile& file : manifest.stages) {
    const std::string stage = absl::StrCat(path, "/", file.name);
    if (!MayExist(stage)) return absl::DataLossError(absl::StrCat(stage, " is missing"));
    MILLRACE_RETURN_IF_ERROR(NamingFile(RegularFile::Open(stage).status(), stage));
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckpointInfo> InfoOf(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(path));
  CheckpointInfo info{.name = fs::path(path).filename().string(),
                      .written = WrittenAt(path),
                      .sample = manifest.sample,
                      .score = manifest.score,
                      .kept = IsKept(path)};
  for (const StageFile& file : manifest.stages) info.bytes += file.bytes;
  return info;
}

std::vector<CheckpointInfo> ListCheckpoints(const std::string& folder) {
  std::vector<CheckpointInfo> all;
  for (const std::string& path : CheckpointsIn(folder)) {
    absl::StatusOr<CheckpointInfo> info = InfoOf(path);
    if (info.ok()) all.push_back(*std::move(info));
  }
  return all;
}

std::string AsideName(const std::string& why) {
  return absl::StrCat(why, "-", absl::FormatTime(kAsideTime, absl::Now(), absl::UTCTimeZone()));
}

absl::Status SetAside(const std::string& folder, std::int64_t sample, const std::string& name) {
  return SetAside(folder, CheckpointsAfter(folder, sample), name);
}

absl::Status SetAside(const std::string& folder, const std::vector<std::string>& paths,
                      const std::string& name) {
  const fs::path aside = fs::path(folder) / name;
  for (const std::string& path : paths) {
    absl::Status moved = MakeFolder(aside);
    if (moved.ok()) moved = Move(path, aside / fs::path(path).filename());
    if (!moved.ok()) {
      MoveBack(folder, name);
      return moved;
    }
  }
  return absl::OkStatus();
}

void TakeBack(const std::string& folder, std::int64_t sample, const std::string& name) {
  for (const std::string& path : CheckpointsAfter(folder, sample)) {
    RemoveCheckpoint(path).IgnoreError();
  }
  MoveBack(folder, name);
}

void PruneAside(const std::string& folder, const std::string& why, std::size_t keep) {
  const std::string prefix = why + "-";
  std::vector<fs::path> aside;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    absl::Time time;
    if (absl::StartsWith(name, prefix) &&
        absl::ParseTime(kAsideTime, name.substr(prefix.size()), &time, nullptr)) {
      aside.push_back(entry.path());
    }
  }
  std::sort(aside.begin(), aside.end(), std::greater<>());  // All times have the same length.
  for (std::size_t i = keep; i < aside.size(); ++i) {
    if (!HoldsOneToKeep(aside[i])) fs::remove_all(aside[i], ignored);
  }
}

}  // namespace millrace::pipeline
