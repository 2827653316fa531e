#include "service/checkpoint_download.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/error_reason.h"

namespace millrace::service {
namespace {

/// A client on a network of some kilobytes a second still takes one within the limit.
constexpr std::uint64_t kPiece = 64 << 10;

}  // namespace

CheckpointDownload::CheckpointDownload(const What& what, Subscribers& subscribers)
    : StreamWriter(subscribers), stream_(what.stream) {
  const auto add = [&](const std::string& name) {
    std::error_code ignored;
    const std::string file = absl::StrCat(what.path, "/", name);
    files_.push_back(
        {.path = file, .name = name, .bytes = std::filesystem::file_size(file, ignored)});
  };
  add(pipeline::kManifestFile);
  for (const pipeline::StageFile& stage : what.manifest.stages) add(stage.name);
}

bool CheckpointDownload::OpenNext() {
  now_ = std::move(files_.back());
  files_.pop_back();
  in_ = std::ifstream(now_.path, std::ios::binary);
  left_ = now_.bytes;
  return in_.is_open();
}

CheckpointDownload::Step CheckpointDownload::Advance(v1::DownloadCheckpointResponse& message,
                                                     absl::Status& end) {
  if (left_ == 0 && files_.empty()) return Step::kEnd;
  const bool open = left_ > 0 || OpenNext();
  const std::uint64_t size = std::min(left_, kPiece);
  std::string piece(open ? size : 0, '\0');
  if (!open || !in_.read(piece.data(), static_cast<std::streamsize>(size))) {
    end = absl::DataLossError(
        absl::StrCat(now_.name, " cannot be read; the checkpoint may have been removed"));
    return Step::kEnd;
  }
  left_ -= size;
  message.set_file(now_.name);
  message.set_data(std::move(piece));
  message.set_file_bytes(now_.bytes);
  return Step::kMessage;
}

absl::Status CheckpointDownload::Stalled(std::chrono::nanoseconds limit) {
  return SlowSubscriber(stream_, "client", TookNothing(limit), "download it again");
}

}  // namespace millrace::service
