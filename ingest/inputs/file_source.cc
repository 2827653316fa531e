#include "ingest/inputs/file_source.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <stop_token>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "ingest/frame/image_folder.h"
#include "ingest/gst/content_guard.h"
#include "ingest/inputs/folder_source.h"
#include "ingest/inputs/source_pipelines.h"

namespace millrace::ingest {

using std::chrono::nanoseconds;

namespace {

/// GStreamer recognizes a list of videos as HLS only by an HLS tag ("#EXT-X-..."), and treats PLS
/// as text.
bool IsPlaylist(const RegularFile& file) {
  constexpr std::string_view kFirstLine = "#EXTM3U";
  constexpr char kFirstLineOfPls[] = "[playlist]";
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::array<char, kByteOrderMark.size() + sizeof(kFirstLineOfPls)> bytes = {};
  const ssize_t count = pread(file.descriptor(), bytes.data(), bytes.size(), 0);
  std::string_view begin(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (begin.starts_with(kByteOrderMark)) begin.remove_prefix(kByteOrderMark.size());
  return begin.starts_with(kFirstLine) ||
         absl::StartsWithIgnoreCase({begin.data(), begin.size()}, kFirstLineOfPls);
}

/// Refuses pipes and devices: filesrc would wait for a pipe's writer, and play a device without
/// end.
absl::Status CheckVideo(const std::string& path) {
  const absl::StatusOr<RegularFile> file = RegularFile::Open(path);
  if (absl::IsNotFound(file.status())) return absl::NotFoundError("there is no such file");
  if (!file.ok()) {
    return {file.status().code(), absl::StrCat("it cannot be read: ", file.status().message())};
  }
  if (file->info().st_size == 0) return absl::FailedPreconditionError("it is empty; name a video");
  return IsPlaylist(*file) ? absl::FailedPreconditionError(kPlaylist) : absl::OkStatus();
}

}  // namespace

PipelineOptions FilePipeline(const std::string& path, const SourceOptions& options) {
  return {.head = "filesrc name=source ! decodebin name=decoder",
          .configure = [path](GstElement& filesrc) -> absl::Status {
            MILLRACE_RETURN_IF_ERROR(CheckVideo(path));
            g_object_set(&filesrc, "location", path.c_str(), nullptr);
            return absl::OkStatus();
          },
          .width = options.width,
          .height = options.height,
          .hardware_decode = options.hardware_decode};
}

FileSource::Round::Round(FileSource& source) : source_(source) {
  PipelineOptions options = FilePipeline(source.path_, source.options_);
  options.owner = source.owner_;
  options.end = source.end_;
  absl::StatusOr<std::unique_ptr<GstPicturePipeline>> pipeline =
      GstPicturePipeline::Create(options, *this);
  if (!pipeline.ok()) {
    outcome_.Set(pipeline.status());
    return;
  }
  pipeline_ = *std::move(pipeline);
  pipeline_->Prepare();
}

FileSource::FileSource(const SourceRequest& request, std::string path)
    : shown_(request.shown),
      owner_(OwnerOf(request)),
      end_(request.settings.end),
      path_(std::move(path)),
      options_(request.options),
      clock_(*request.settings.clock),
      feed_(clock_, static_cast<std::size_t>(options_.queue_capacity), WhenFullOf(options_),
            options_.max_frames_per_second),
      states_(shown_, StateLog::Kind::kFile, options_.on_state, options_.stream),
      player_([this] { Play(); }) {}

FileSource::~FileSource() { Stop(); }

absl::Status FileSource::AwaitFirstPicture(nanoseconds limit) {
  const nanoseconds until = clock_.Now() + limit;
  MutexLock lock(mu_);
  while (states_.state() == SourceState::kConnecting && !stopping_) {
    const nanoseconds now = clock_.Now();
    if (now >= until) {
      const double seconds = std::chrono::duration<double>(limit).count();
      return absl::FailedPreconditionError(
          absl::StrCat(shown_, ": it showed no picture within ", seconds,
                       " s, and may be cut short or damaged; name a video that plays"));
    }
    changed_.wait_for(mu_, until - now);
  }
  if (stopping_) return absl::CancelledError(absl::StrCat(shown_, ": stopped while opening"));
  return cause_;
}

SourceStatus FileSource::status() const {
  SourceStatus status;
  status.epoch = feed_.epoch();
  status.size_changes = feed_.size_changes();
  status.skipped = feed_.skipped();
  MutexLock lock(mu_);
  status.state = states_.state();
  status.entered = states_.entered();
  status.cause = cause_;
  if (format_.width > 0) {
    status.camera_width = format_.shown().width;
    status.camera_height = format_.shown().height;
  }
  status.camera_frames_per_second = format_.frames_per_second;
  return status;
}

void FileSource::Cancel() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    if (playing_ != nullptr) playing_->Set(absl::CancelledError("stopped"));
  }
  changed_.notify_all();
  queue().Close();
}

void FileSource::Stop() {
  Cancel();
  MutexLock lock(join_mu_);
  if (player_.joinable()) player_.join();
}

void FileSource::Play() {
  const absl::Status played = ExceptionToStatus([this] {
    {
      MutexLock lock(mu_);
      states_.Enter(SourceState::kConnecting, absl::OkStatus());
    }
    Finish(PlayRounds());
  });
  if (!played.ok()) Finish(played);
}

absl::Status FileSource::PlayRounds() {
  auto round = std::make_unique<Round>(*this);
  std::unique_ptr<Round> finished;
  while (true) {
    const std::int64_t frames_before = feed_.frames();
    round->Play();
    finished = nullptr;  // Takes milliseconds: before the next wait.
    auto next = options_.loop ? std::make_unique<Round>(*this) : nullptr;
    absl::Status outcome = PlayToEnd(*round);
    if (outcome.ok() && feed_.frames() == frames_before) {
      outcome = absl::FailedPreconditionError("it ended without a picture");
    }
    if (!outcome.ok() || !next) {
      round->BeginEnd();  // Both may hang, so their waits overlap.
      if (next) next->BeginEnd();
      return outcome;
    }
    BeginRound();
    finished = std::exchange(round, std::move(next));
  }
}

void FileSource::BeginRound() {
  feed_.BeginEpoch();
  MutexLock lock(mu_);
  pacer_.BeginRound();
}

absl::Status FileSource::PlayToEnd(Round& round) {
  {
    MutexLock lock(mu_);
    if (stopping_) return absl::CancelledError("stopped");
    playing_ = &round.outcome();
  }
  absl::Status outcome = round.outcome().Wait();
  MutexLock lock(mu_);
  playing_ = nullptr;
  return outcome;
}

void FileSource::Finish(const absl::Status& outcome) {
  const absl::Status failure(outcome.code(),
                             absl::StrCat(shown_, ": ", std::string(outcome.message())));
  SourceState end = SourceState::kFailed;
  {
    MutexLock lock(mu_);
    if (stopping_) {
      end = SourceState::kStopped;
    } else if (outcome.ok()) {
      end = SourceState::kEnded;
    } else {
      cause_ = failure;
    }
    states_.Enter(end, end == SourceState::kFailed ? outcome : absl::OkStatus());
  }
  states_.Log();
  changed_.notify_all();
  queue().Close();
}

void FileSource::SetFormat(const CameraFormat& format) {
  bool other_size = false;
  {
    MutexLock lock(mu_);
    other_size = !format.SameSize(format_);
    format_ = format;
  }
  if (other_size) feed_.ChangeSize();
}

void FileSource::Take(DecodedPicture picture) {
  // A stopped camera would not have sent the remaining frames.
  if (options_.as_camera && !WaitUntilDue(picture)) return;
  {
    MutexLock lock(mu_);
    if (states_.state() == SourceState::kConnecting) {
      states_.Enter(SourceState::kStreaming, absl::OkStatus());
    }
  }
  states_.Log();
  changed_.notify_all();
  feed_.Take(std::move(picture));
}

// Returns false if it was stopped first.
bool FileSource::WaitUntilDue(const DecodedPicture& picture) {
  MutexLock lock(mu_);
  if (!picture.stream_time) return !stopping_;
  const nanoseconds due = pacer_.Due(*picture.stream_time, picture.duration, clock_.Now());
  while (!stopping_) {
    const nanoseconds now = clock_.Now();
    if (now >= due) return true;
    changed_.wait_for(mu_, due - now);
  }
  return false;
}

absl::StatusOr<std::unique_ptr<Source>> OpenFile(const SourceRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(std::string path, FilePath(request.uri));
  if (NamesImages(path)) return OpenFolder(request, path);
  if (request.options.images_per_second > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.shown, ": fps is for folders of images only; a video says its own rate"));
  }
  if (const absl::Status checked = CheckVideo(path); !checked.ok()) {
    return absl::Status(checked.code(), absl::StrCat(request.shown, ": ", checked.message()));
  }
  auto source = std::make_unique<FileSource>(request, std::move(path));
  const std::stop_callback cancel(request.options.stop, [&] { source->Cancel(); });
  MILLRACE_RETURN_IF_ERROR(source->AwaitFirstPicture(request.settings.first_picture));
  return source;
}

}  // namespace millrace::ingest
