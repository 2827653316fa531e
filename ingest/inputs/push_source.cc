// push: the source of frames that clients push.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"
#include "ingest/frame/frame_feed.h"
#include "ingest/inputs/open_source.h"
#include "ingest/pictures/picture_maker.h"
#include "ingest/source/picture_pipeline.h"
#include "ingest/source/push_entry.h"
#include "ingest/source/state_log.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

/// The state that the source and its pushers share.
class Entry final : public PushEntry, public std::enable_shared_from_this<Entry> {
 public:
  explicit Entry(const SourceRequest& request)
      : maker_(request.options.width, request.options.height),
        feed_(*request.settings.clock, static_cast<std::size_t>(request.options.queue_capacity),
              WhenFullOf(request.options), request.options.max_frames_per_second),
        states_("push", StateLog::Kind::kPushed, request.options.on_state, request.options.stream) {
    AwaitPusher();
  }

  absl::StatusOr<std::unique_ptr<Pusher>> Enter(std::function<void()> on_end) override
      ABSL_LOCKS_EXCLUDED(mu_);

  void Leave() ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<Pusher::Result> Push(const PushedPicture& picture,
                                      std::optional<nanoseconds> stream_time)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] SourceStatus status() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] FrameQueue& queue() { return feed_.queue(); }

 private:
  void AwaitPusher() ABSL_LOCKS_EXCLUDED(mu_);
  /// Records that the next picture came in this size.
  void Take(const MadePicture& made) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const PictureMaker maker_;

  // Self-synchronized.
  FrameFeed feed_;
  StateLog states_;  ///< Changes under mu_, so that status() is a consistent snapshot.

  mutable Mutex mu_;
  absl::Status cause_ ABSL_GUARDED_BY(mu_);
  CameraFormat format_ ABSL_GUARDED_BY(mu_);
  bool present_ ABSL_GUARDED_BY(mu_) = false;  ///< A pusher exists.
  std::function<void()> on_end_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

class EnteredPusher final : public Pusher {
 public:
  explicit EnteredPusher(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
  ~EnteredPusher() override { entry_->Leave(); }
  absl::StatusOr<Result> Push(const PushedPicture& picture) override;

 private:
  const std::shared_ptr<Entry> entry_;

  bool began_ = false;
  std::optional<nanoseconds> first_taken_;  ///< Absent if the pictures have no time of exposure.
};

absl::StatusOr<Pusher::Result> EnteredPusher::Push(const PushedPicture& picture) {
  if (began_ && picture.taken.has_value() != first_taken_.has_value()) {
    return absl::InvalidArgumentError(
        "only one of the first picture and this one has a capture time. Send it with all "
        "pictures of a call, or with no picture");
  }
  if (!began_) first_taken_ = picture.taken;
  std::optional<nanoseconds> stream_time;
  if (picture.taken && first_taken_) stream_time = *picture.taken - *first_taken_;
  absl::StatusOr<Result> result = entry_->Push(picture, stream_time);
  if (result.ok()) began_ = true;
  return result;
}

void Entry::AwaitPusher() {
  {
    const MutexLock lock(mu_);
    if (stopped_) return;
    cause_ = absl::UnavailableError("push: no client pushes frames now");
    states_.Enter(SourceState::kWaiting, cause_);
  }
  states_.Log();
}

absl::StatusOr<std::unique_ptr<Pusher>> Entry::Enter(std::function<void()> on_end) {
  {
    const MutexLock lock(mu_);
    if (stopped_) return absl::UnavailableError("the source is stopped");
    if (present_) {
      return absl::FailedPreconditionError(
          "another client pushes frames already; there can be one at a time");
    }
    present_ = true;
    on_end_ = std::move(on_end);
  }
  feed_.BeginEpoch();
  return std::make_unique<EnteredPusher>(shared_from_this());
}

void Entry::Leave() {
  {
    const MutexLock lock(mu_);
    present_ = false;
    on_end_ = nullptr;
  }
  AwaitPusher();
}

absl::StatusOr<Pusher::Result> Entry::Push(const PushedPicture& picture,
                                           std::optional<nanoseconds> stream_time) {
  MILLRACE_ASSIGN_OR_RETURN(const MadePicture made, maker_.From(picture.content));
  Take(made);
  const bool taken = feed_.Take({.picture = made.picture,
                                 .stream_time = stream_time,
                                 .duration = std::nullopt,
                                 .camera_time = picture.taken,
                                 .follows = !stream_time,
                                 .loss_observer = picture.loss_observer});
  return taken ? Pusher::Result::kTaken : Pusher::Result::kSkipped;
}

void Entry::Take(const MadePicture& made) {
  bool other_size = false;
  {
    const MutexLock lock(mu_);
    const CameraFormat format{.width = made.own_width, .height = made.own_height};
    other_size = !format.SameSize(format_);
    format_ = format;
    if (!stopped_ && states_.state() == SourceState::kWaiting) {
      cause_ = absl::OkStatus();
      states_.Enter(SourceState::kStreaming, cause_);
    }
  }
  states_.Log();
  if (other_size) feed_.ChangeSize();
}

void Entry::Stop() {
  std::function<void()> on_end;
  {
    const MutexLock lock(mu_);
    if (!std::exchange(stopped_, true)) {
      cause_ = absl::OkStatus();
      states_.Enter(SourceState::kStopped, cause_);
    }
    on_end = std::exchange(on_end_, nullptr);
  }
  states_.Log();
  queue().Close();
  if (on_end) on_end();
}

SourceStatus Entry::status() const {
  SourceStatus status;
  status.epoch = feed_.epoch();
  status.size_changes = feed_.size_changes();
  status.skipped = feed_.skipped();
  const std::optional<nanoseconds> interval = feed_.PictureInterval();
  if (interval && interval->count() > 0) {
    status.camera_frames_per_second = 1 / std::chrono::duration<double>(*interval).count();
  }
  const MutexLock lock(mu_);
  status.state = states_.state();
  status.entered = states_.entered();
  status.cause = cause_;
  status.camera_width = format_.width;
  status.camera_height = format_.height;
  return status;
}

class PushSource final : public Source {
 public:
  explicit PushSource(const SourceRequest& request) : entry_(std::make_shared<Entry>(request)) {}
  ~PushSource() override { entry_->Stop(); }

  FrameQueue& queue() override { return entry_->queue(); }
  SourceStatus status() const override { return entry_->status(); }
  void Stop() override { entry_->Stop(); }
  std::shared_ptr<PushEntry> push_entry() override { return entry_; }

 private:
  const std::shared_ptr<Entry> entry_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenPushSource(const SourceRequest& request) {
  if (!request.uri.rest.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.shown,
                     ": write push: and nothing behind it; what is pushed where is "
                     "said by the stream's name"));
  }
  return std::make_unique<PushSource>(request);
}

}  // namespace millrace::ingest
