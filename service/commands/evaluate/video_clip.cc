#include "service/commands/evaluate/video_clip.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ingest/inputs/open_source.h"
#include "ingest/source/source.h"

namespace millrace::service {
namespace {

using pipeline::Clip;
using pipeline::ClipPair;
using pipeline::Rgb;

// The picture's bytes; they own the picture.
Rgb BytesOf(const std::shared_ptr<const ingest::Picture>& picture) {
  return {picture, &picture->rgb};
}

class VideoReading final : public Clip {
 public:
  explicit VideoReading(std::unique_ptr<ingest::Source> source) : source_(std::move(source)) {}

  absl::StatusOr<std::optional<ClipPair>> Next() override {
    while (true) {
      const auto frame = source_->queue().Pop();
      if (!frame) break;
      if (frame->previous == nullptr) continue;
      return ClipPair{.number = next_++,
                      .stream_time = frame->stream_time,
                      .previous = BytesOf(frame->previous),
                      .current = BytesOf(frame->picture)};
    }
    const ingest::SourceStatus status = source_->status();
    if (status.state == ingest::SourceState::kFailed) return status.cause;
    return std::nullopt;
  }

 private:
  const std::unique_ptr<ingest::Source> source_;
  std::int64_t next_ = 0;
};

}  // namespace

absl::StatusOr<pipeline::ClipSource> VideoClip(const std::string& path, int width, int height) {
  const ingest::SourceOptions options{
      .uri = path, .width = width, .height = height, .queue_capacity = 4};
  if (ingest::IsLive(options)) {
    return absl::InvalidArgumentError(
        absl::StrCat(ingest::WithoutCredentials(path),
                     ": a live source is never the same twice; record it, and evaluate the file"));
  }
  MILLRACE_RETURN_IF_ERROR(ingest::OpenSource(options).status());
  pipeline::ClipSource source{.name = std::filesystem::path(path).filename().string(),
                              .width = width,
                              .height = height,
                              .open = {}};
  source.open = [options]() -> absl::StatusOr<std::unique_ptr<Clip>> {
    MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<ingest::Source> opened, ingest::OpenSource(options));
    return std::make_unique<VideoReading>(std::move(opened));
  };
  return source;
}

}  // namespace millrace::service
