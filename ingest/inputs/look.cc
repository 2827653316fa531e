#include "ingest/inputs/look.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/status.h"
#include "ingest/frame/image_folder.h"
#include "ingest/inputs/new_pipeline.h"
#include "ingest/inputs/open_source.h"
#include "ingest/inputs/source_pipelines.h"
#include "ingest/pictures/image_decoder.h"
#include "ingest/source/uri.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

constexpr Extent kTestPicture = {.width = 320, .height = 240};
constexpr double kUsualImagesPerSecond = 30;
/// Number of pictures that determine the rate of a source without an announced one.
constexpr std::size_t kPicturesOfRate = 9;

/// Records a pipeline's format and pictures. Thread-safe. Must outlive the pipeline.
class FactsRecorder final : public PipelineListener {
 public:
  void OnFormat(const CameraFormat& format) override ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    format_ = format;
  }
  void OnPicture(DecodedPicture picture) override ABSL_LOCKS_EXCLUDED(mu_) {
    {
      const MutexLock lock(mu_);
      seen_ = true;
      if (picture.stream_time) times_.push_back(*picture.stream_time);
    }
    changed_.notify_all();
  }
  void OnWarning(const absl::Status& warning) override ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    warning_ = warning;
  }
  void OnOutcome(absl::Status outcome) override ABSL_LOCKS_EXCLUDED(mu_) {
    {
      const MutexLock lock(mu_);
      if (!outcome_) outcome_ = std::move(outcome);
    }
    changed_.notify_all();
  }

  /// Waits for enough pictures. At the time limit or the source's end, the pictures so far are
  /// enough; the function does not fail.
  absl::Status Await(std::chrono::milliseconds limit, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_) {
    // The lock prevents a lost wake-up between the check of the token and the wait.
    const std::stop_callback wake(stop, [this] {
      { const MutexLock lock(mu_); }
      changed_.notify_all();
    });
    const auto until = std::chrono::steady_clock::now() + limit;
    const MutexLock lock(mu_);
    while (!Enough() && !outcome_ && !stop.stop_requested() &&
           std::chrono::steady_clock::now() < until) {
      changed_.wait_until(mu_, until);
    }
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (seen_) return absl::OkStatus();
    if (outcome_ && !outcome_->ok()) return *outcome_;
    if (!warning_.ok()) return warning_;
    if (outcome_) return absl::FailedPreconditionError("it ended without a picture");
    return absl::DeadlineExceededError(
        absl::StrCat("showed no picture within ", static_cast<double>(limit.count()) / 1000, " s"));
  }

  [[nodiscard]] SourceFacts facts() const ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return {.picture = format_.shown(),
            .sent = {.width = format_.width, .height = format_.height},
            .frames_per_second =
                format_.frames_per_second > 0 ? format_.frames_per_second : MeasuredRate()};
  }

 private:
  [[nodiscard]] bool Enough() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return seen_ && (format_.frames_per_second > 0 || times_.size() >= kPicturesOfRate);
  }

  /// The rate by the median of the intervals; 0: too few pictures.
  [[nodiscard]] double MeasuredRate() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<nanoseconds> intervals;
    for (std::size_t i = 1; i < times_.size(); ++i) intervals.push_back(times_[i] - times_[i - 1]);
    if (intervals.empty()) return 0;
    const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
    std::nth_element(intervals.begin(), middle, intervals.end());
    return *middle > nanoseconds(0) ? 1 / std::chrono::duration<double>(*middle).count() : 0;
  }

  mutable Mutex mu_;
  CondVar changed_;
  CameraFormat format_ ABSL_GUARDED_BY(mu_);
  bool seen_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<nanoseconds> times_ ABSL_GUARDED_BY(mu_);
  absl::Status warning_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<SourceFacts> LookAt(PipelineOptions options, const SourceRequest& request) {
  const SourceOptions& source = request.options;
  options.owner = OwnerOf(request);
  FactsRecorder recorder;
  MILLRACE_ASSIGN_OR_RETURN(const auto pipeline, NewPipeline(options, recorder));
  pipeline->Play();
  MILLRACE_RETURN_IF_ERROR(recorder.Await(source.camera.connect_timeout, source.stop));
  SourceFacts facts = recorder.facts();
  facts.codec = pipeline->Codec();
  return facts;
}

absl::StatusOr<DecodedImage> Decoded(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string bytes, ReadImage(path));
  return DecodeImage({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

absl::StatusOr<SourceFacts> LookAtImages(const std::string& path, double images_per_second) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<std::string> images, ListImages(path));
  const absl::StatusOr<DecodedImage> first = Decoded(images.front());
  if (!first.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("its first image, ", images.front(), ": ", first.status().message()));
  }
  const Extent picture = {.width = first->picture->width, .height = first->picture->height};
  return SourceFacts{
      .picture = picture,
      .sent = picture,
      .frames_per_second = images_per_second > 0 ? images_per_second : kUsualImagesPerSecond,
      .codec = std::string(first->format)};
}

absl::StatusOr<SourceFacts> LookAtFile(const SourceRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string path, FilePath(request.uri));
  if (NamesImages(path)) return LookAtImages(path, request.options.images_per_second);
  return LookAt(FilePipeline(path, request.options), request);
}

absl::StatusOr<SourceFacts> LookAt(const SourceRequest& request, SourceKind kind) {
  switch (kind) {
    case SourceKind::kFile:
      return LookAtFile(request);
    case SourceKind::kRtspCamera: {
      MILLRACE_ASSIGN_OR_RETURN(PipelineOptions pipeline, RtspPipeline(request));
      return LookAt(std::move(pipeline), request);
    }
    case SourceKind::kV4l2Camera: {
      MILLRACE_ASSIGN_OR_RETURN(PipelineOptions pipeline, V4l2Pipeline(request));
      return LookAt(std::move(pipeline), request);
    }
    case SourceKind::kTestPicture:
      MILLRACE_RETURN_IF_ERROR(TestPicturePipeline(request).status());
      return SourceFacts{
          .picture = kTestPicture,
          .sent = kTestPicture,
          .frames_per_second = static_cast<double>(request.options.test_frames_per_second)};
    case SourceKind::kPush:
      break;
  }
  MILLRACE_CHECK(false);
}

}  // namespace

bool CanLook(const SourceOptions& options) {
  const absl::StatusOr<Uri> uri = ParseUri(options.uri);
  return !uri.ok() || KindOf(*uri) != SourceKind::kPush;
}

absl::StatusOr<SourceFacts> Look(const SourceOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(const Uri uri, ParseUri(options.uri));
  const std::string shown = WithoutCredentials(options.uri);
  const std::optional<SourceKind> kind = KindOf(uri);
  if (!kind) return UnknownScheme(uri, shown);
  absl::StatusOr<SourceFacts> facts =
      LookAt({.options = options, .settings = {}, .uri = uri, .shown = shown}, *kind);
  const absl::Status& failed = facts.status();
  if (failed.ok() || failed.message().find(shown) != absl::string_view::npos) return facts;
  return absl::Status(failed.code(), absl::StrCat(shown, ": ", failed.message()));
}

}  // namespace millrace::ingest
