#include "ingest/inputs/folder_source.h"

#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/log_about.h"
#include "base/status.h"
#include "ingest/frame/image_folder.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

constexpr double kUsualRate = 30;

absl::StatusOr<MadePicture> Read(const std::string& path, const PictureMaker& maker) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string bytes, ReadImage(path));
  return maker.FromImage({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

FolderSource::FolderSource(const SourceRequest& request, std::vector<std::string> images)
    : shown_(request.shown),
      images_(std::move(images)),
      options_(request.options),
      images_per_second_(options_.images_per_second > 0 ? options_.images_per_second : kUsualRate),
      clock_(*request.settings.clock),
      maker_(options_.width, options_.height),
      feed_(clock_, static_cast<std::size_t>(options_.queue_capacity), WhenFullOf(options_),
            options_.max_frames_per_second),
      states_(shown_, StateLog::Kind::kFile, options_.on_state, options_.stream),
      player_([this] { Play(); }) {}

SourceStatus FolderSource::status() const {
  SourceStatus status;
  status.epoch = feed_.epoch();
  status.size_changes = feed_.size_changes();
  status.skipped = feed_.skipped();
  const MutexLock lock(mu_);
  status.state = states_.state();
  status.entered = states_.entered();
  status.cause = cause_;
  status.camera_width = format_.width;
  status.camera_height = format_.height;
  status.camera_frames_per_second = format_.frames_per_second;
  return status;
}

void FolderSource::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  queue().Close();
  const MutexLock lock(join_mu_);
  if (player_.joinable()) player_.join();
}

bool FolderSource::stopping() const {
  const MutexLock lock(mu_);
  return stopping_;
}

void FolderSource::Play() {
  const absl::Status played = ExceptionToStatus([this] {
    {
      const MutexLock lock(mu_);
      states_.Enter(SourceState::kConnecting, absl::OkStatus());
    }
    Finish(PlayRounds());
  });
  if (!played.ok()) Finish(played);
}

absl::Status FolderSource::PlayRounds() {
  for (;;) {
    const std::int64_t frames_before = feed_.frames() + feed_.skipped();
    if (!PlayOnce()) return absl::CancelledError("stopped");
    if (feed_.frames() + feed_.skipped() == frames_before) {
      return absl::FailedPreconditionError(absl::StrCat(
          "none of its ", images_.size(),
          " images can be read; of the last one: ", std::string(last_wrong_.message())));
    }
    if (!options_.loop) return absl::OkStatus();
    feed_.BeginEpoch();
    const MutexLock lock(mu_);
    pacer_.BeginRound();
  }
}

bool FolderSource::PlayOnce() {
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (stopping()) return false;
    const absl::StatusOr<MadePicture> made = Read(images_[i], maker_);
    if (options_.as_camera && !WaitUntilDue(i)) return false;
    if (made.ok()) {
      Show(*made, i);
    } else {
      LeaveOut(images_[i], made.status());
    }
  }
  return true;
}

// The next image does not follow the image before `path`, so a new epoch begins.
void FolderSource::LeaveOut(const std::string& path, const absl::Status& why) {
  last_wrong_ = {why.code(), absl::StrCat(path, ": ", std::string(why.message()))};
  if (left_out_.insert(path).second) {
    const LogAbout about(options_.stream);
    spdlog::warn("{}: left out: {}", shown_, std::string(last_wrong_.message()));
  }
  feed_.BeginEpoch();
}

nanoseconds FolderSource::TimeOf(std::size_t index) const {
  return nanoseconds(std::llround(static_cast<double>(index) * 1e9 / images_per_second_));
}

bool FolderSource::WaitUntilDue(std::size_t index) {
  const MutexLock lock(mu_);
  const nanoseconds due = pacer_.Due(TimeOf(index), TimeOf(1), clock_.Now());
  while (!stopping_) {
    const nanoseconds now = clock_.Now();
    if (now >= due) return true;
    changed_.wait_for(mu_, due - now);
  }
  return false;
}

void FolderSource::Show(const MadePicture& made, std::size_t index) {
  bool other_size = false;
  {
    const MutexLock lock(mu_);
    const CameraFormat format{.width = made.own_width,
                              .height = made.own_height,
                              .frames_per_second = images_per_second_};
    other_size = !format.SameSize(format_);
    format_ = format;
    if (states_.state() == SourceState::kConnecting) {
      states_.Enter(SourceState::kStreaming, absl::OkStatus());
    }
  }
  states_.Log();
  if (other_size) feed_.ChangeSize();
  feed_.Take({.picture = made.picture,
              .stream_time = TimeOf(index),
              .duration = TimeOf(1),
              .camera_time = std::nullopt,
              .follows = true});
}

void FolderSource::Finish(const absl::Status& outcome) {
  {
    const MutexLock lock(mu_);
    const SourceState end = stopping_      ? SourceState::kStopped
                            : outcome.ok() ? SourceState::kEnded
                                           : SourceState::kFailed;
    if (end == SourceState::kFailed) {
      cause_ = {outcome.code(), absl::StrCat(shown_, ": ", std::string(outcome.message()))};
    }
    states_.Enter(end, end == SourceState::kFailed ? outcome : absl::OkStatus());
  }
  states_.Log();
  queue().Close();
}

absl::StatusOr<std::unique_ptr<Source>> OpenFolder(const SourceRequest& request,
                                                   const std::string& path) {
  const auto named = [&request](const absl::Status& status, const std::string& of = "") {
    return absl::Status(status.code(),
                        absl::StrCat(request.shown, ": ", of, std::string(status.message())));
  };
  absl::StatusOr<std::vector<std::string>> images = ListImages(path);
  if (!images.ok()) return named(images.status());
  const PictureMaker maker(request.options.width, request.options.height);
  if (const absl::Status first = Read(images->front(), maker).status(); !first.ok()) {
    return named({absl::StatusCode::kFailedPrecondition, first.message()},
                 absl::StrCat("its first image, ", images->front(), ": "));
  }
  return std::make_unique<FolderSource>(request, *std::move(images));
}

}  // namespace millrace::ingest
