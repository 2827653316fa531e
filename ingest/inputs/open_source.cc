#include "ingest/inputs/open_source.h"

#include <climits>
#include <optional>
#include <random>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "ingest/source/camera_uri.h"

namespace millrace::ingest {

absl::Status UnknownScheme(const Uri& uri, std::string_view shown) {
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(shown), ": unknown scheme ", uri.scheme, ":; it must be ",
      std::string(kKnownSchemes), ". A file whose name has a colon is written ./NAME"));
}

namespace {

absl::Status CheckAtLeast(std::string_view name, int value, int min, std::string_view shown) {
  if (value >= min) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(shown), ": ", std::string(name),
                                                 " is ", value, " and must be at least ", min));
}

absl::Status CheckCamera(const CameraOptions& camera, std::string_view shown) {
  // Over three weeks, more than any camera needs; it fits into nanoseconds.
  constexpr std::int64_t kMax = INT_MAX;
  const auto check = [&](std::string_view name, std::chrono::milliseconds time,
                         std::int64_t min) -> absl::Status {
    if (min <= time.count() && time.count() <= kMax) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(std::string(shown), ": ", std::string(name),
                                                   " is ", time.count(), " and must be at least ",
                                                   min, " and at most ", kMax, " milliseconds"));
  };
  MILLRACE_RETURN_IF_ERROR(check("latency", camera.latency, 0));
  MILLRACE_RETURN_IF_ERROR(check("connect_timeout", camera.connect_timeout, 1));
  MILLRACE_RETURN_IF_ERROR(check("stall_timeout", camera.stall_timeout, 1));
  MILLRACE_RETURN_IF_ERROR(check("first_backoff", camera.first_backoff, 1));
  return check("max_backoff", camera.max_backoff, camera.first_backoff.count());
}

absl::Status CheckOptions(const SourceOptions& options, std::string_view shown) {
  MILLRACE_RETURN_IF_ERROR(CheckCamera(options.camera, shown));
  if (!(options.max_frames_per_second >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(shown), ": max_frames_per_second is ",
                     options.max_frames_per_second, " and must not be negative"));
  }
  if (!(options.images_per_second >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(shown), ": images_per_second is ",
                                                   options.images_per_second,
                                                   " and must not be negative"));
  }
  MILLRACE_RETURN_IF_ERROR(CheckAtLeast("width", options.width, 1, shown));
  MILLRACE_RETURN_IF_ERROR(CheckAtLeast("height", options.height, 1, shown));
  MILLRACE_RETURN_IF_ERROR(CheckAtLeast("queue_capacity", options.queue_capacity, 1, shown));
  return CheckAtLeast("test_frames_per_second", options.test_frames_per_second, 1, shown);
}

}  // namespace

PipelineOwner OwnerOf(const SourceRequest& request) {
  PipelineOwner owner = {
      .name = request.options.stream.empty() ? request.shown : request.options.stream,
      .place = request.shown};
  if (KindOf(request.uri) != SourceKind::kRtspCamera) return owner;
  const absl::StatusOr<CameraUri> camera = ParseCameraUri(request.uri);
  if (camera.ok()) {
    owner.place = absl::StrCat(absl::AsciiStrToLower(camera->host), ":", camera->port);
  }
  return owner;
}

absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options) {
  IngestSettings settings;
  settings.limits.first_frame = options.camera.connect_timeout;
  settings.limits.between_frames = options.camera.stall_timeout;
  settings.backoff.first = options.camera.first_backoff;
  settings.backoff.longest = options.camera.max_backoff;
  settings.seed = std::random_device{}();
  return OpenSource(options, settings);
}

absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options,
                                                   const IngestSettings& settings) {
  MILLRACE_ASSIGN_OR_RETURN(const Uri uri, ParseUri(options.uri));
  const std::string shown = WithoutCredentials(options.uri);
  const std::optional<SourceKind> kind = KindOf(uri);
  if (!kind) return UnknownScheme(uri, shown);
  MILLRACE_RETURN_IF_ERROR(CheckOptions(options, shown));
  const SourceRequest request{.options = options, .settings = settings, .uri = uri, .shown = shown};
  switch (*kind) {
    case SourceKind::kFile:
      return OpenFile(request);
    case SourceKind::kRtspCamera:
      return OpenRtspCamera(request);
    case SourceKind::kV4l2Camera:
      return OpenV4l2Camera(request);
    case SourceKind::kPush:
      return OpenPushSource(request);
    case SourceKind::kTestPicture:
      return OpenTestPicture(request);
  }
  MILLRACE_CHECK(false);
}

}  // namespace millrace::ingest
