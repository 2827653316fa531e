#include "service/checkpoint_download.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pipeline/checkpoint_folders.h"
#include "service/parse.h"
#include "service/status.h"

namespace millrace::service {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

}  // namespace

CheckpointDownload::CheckpointDownload(const std::string& path) {
  const auto add = [&](const std::string& name) {
    std::error_code ignored;
    const std::string file = absl::StrCat(path, "/", name);
    files_.push_back(
        {.path = file, .name = name, .bytes = std::filesystem::file_size(file, ignored)});
  };
  const absl::StatusOr<pipeline::CheckpointManifest> manifest = pipeline::ReadManifest(path);
  if (!manifest.ok()) {
    Finish(ToGrpcStatus(manifest.status()));
    return;
  }
  add(pipeline::kManifestFile);
  for (const pipeline::StageFile& stage : manifest->stages) add(stage.name);
  WriteNext();
}

void CheckpointDownload::OnWriteDone(bool ok) {
  if (ok) {
    WriteNext();
  } else {
    Finish(grpc::Status::CANCELLED);
  }
}

bool CheckpointDownload::OpenNext() {
  now_ = std::move(files_.back());
  files_.pop_back();
  in_ = std::ifstream(now_.path, std::ios::binary);
  left_ = now_.bytes;
  return in_.is_open();
}

void CheckpointDownload::WriteNext() {
  if (left_ == 0 && files_.empty()) return Finish(grpc::Status::OK);
  const bool open = left_ > 0 || OpenNext();
  const std::uint64_t size = std::min(left_, kPiece);
  std::string piece(open ? size : 0, '\0');
  if (!open || !in_.read(piece.data(), static_cast<std::streamsize>(size))) {
    return Finish(ToGrpcStatus(absl::DataLossError(
        absl::StrCat(now_.name, " cannot be read; the checkpoint may have been removed"))));
  }
  left_ -= size;
  response_.set_file(now_.name);
  response_.set_data(std::move(piece));
  response_.set_file_bytes(now_.bytes);
  if (const absl::Status made = Serialize(response_, bytes_); !made.ok()) {
    return Finish(ToGrpcStatus(made));
  }
  StartWrite(&bytes_);
}

}  // namespace millrace::service
