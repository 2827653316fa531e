#include "service/api/checkpoint_download.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"

namespace millrace::service {
namespace {

/// Even a client with a few kilobytes per second can read one piece within the stall limit.
constexpr std::uint64_t kPiece = 64 << 10;

}  // namespace

CheckpointDownload::CheckpointDownload(const What& what, StreamingCalls& calls)
    : StreamWriter(calls), stream_(what.stream) {
  const auto add = [&](const std::string& name) {
    files_.push_back({.path = absl::StrCat(what.path, "/", name), .name = name});
  };
  add(pipeline::kManifestFile);
  for (const pipeline::StageFile& stage : what.manifest.stages) add(stage.name);
}

bool CheckpointDownload::OpenNext() {
  now_ = std::move(files_.back());
  files_.pop_back();
  in_.reset();
  absl::StatusOr<RegularFile> file = RegularFile::Open(now_.path);
  if (!file.ok()) return false;
  in_.emplace(*std::move(file));
  bytes_ = static_cast<std::uint64_t>(in_->info().st_size);
  sent_ = 0;
  return true;
}

CheckpointDownload::Step CheckpointDownload::Advance(v1::DownloadCheckpointResponse& message,
                                                     absl::Status& end) {
  if (sent_ == bytes_ && files_.empty()) return Step::kEnd;
  const bool open = (sent_ < bytes_ || OpenNext()) && in_.has_value();
  std::string piece(open ? std::min(bytes_ - sent_, kPiece) : 0, '\0');
  const auto size = static_cast<ssize_t>(piece.size());
  if (!open ||
      ::pread(in_->descriptor(), piece.data(), piece.size(), static_cast<off_t>(sent_)) != size) {
    end = absl::DataLossError(
        absl::StrCat(now_.name, " cannot be read; the checkpoint may have been removed"));
    return Step::kEnd;
  }
  sent_ += piece.size();
  message.set_file(now_.name);
  message.set_data(std::move(piece));
  message.set_file_bytes(bytes_);
  return Step::kMessage;
}

absl::Status CheckpointDownload::Stalled(std::chrono::nanoseconds limit) {
  return SlowSubscriber(stream_, "client", TookNothing(limit), "download it again");
}

}  // namespace millrace::service
