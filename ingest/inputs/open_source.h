// Opens a source by its URI; and what stands between that and the kinds of source: their factories
// and shared settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ingest/source/abandoned_pipelines.h"
#include "ingest/source/backoff.h"
#include "ingest/source/session_machine.h"
#include "ingest/source/source.h"
#include "ingest/source/uri.h"

namespace millrace::ingest {

/// Opens the source that `options.uri` names and starts it.
///
/// Returns once a file has shown its first frame or failed to: a missing file (NOT_FOUND), an
/// unknown scheme or bad option (INVALID_ARGUMENT), an undecodable file (FAILED_PRECONDITION) are
/// errors that name the URI (without credentials), the cause and what to do; so is a camera's
/// password or certificate that is not where `options` say (FAILED_PRECONDITION). A camera that is
/// not there is not an error: it is tried for ever, and status() says so.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options);

/// What OpenSource() decides for itself, and a test may decide otherwise.
struct IngestSettings {
  /// Stamps arrivals and drives limits and pacing. Must outlive the source.
  const Clock* clock = &MonotonicClock();
  SessionLimits limits = {};
  BackoffOptions backoff = {};
  std::uint64_t seed = 0;
  /// Each pipeline that hangs costs memory. After one of a camera was left behind, its next session
  /// waits for this time, multiplied by the number that hang.
  std::chrono::nanoseconds pause_after_hanging = std::chrono::seconds(10);
  /// The interval at which a camera of which too many hang (abandoned_pipelines.h) is tried again.
  std::chrono::nanoseconds pause_with_too_many = std::chrono::seconds(60);
  EndLimits end = {};
  /// In windows of this time a camera is judged whose pictures are decoded too slowly
  /// (lag_watch.h).
  std::chrono::nanoseconds lag_window = std::chrono::seconds(4);
  /// A file must show its first picture within this time.
  std::chrono::nanoseconds first_picture = std::chrono::seconds(10);
};

/// As OpenSource(options), with settings.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options,
                                                                 const IngestSettings& settings);

/// The error for a URI with an unknown scheme. `shown`: the URI without credentials.
[[nodiscard]] absl::Status UnknownScheme(const Uri& uri, std::string_view shown);

/// What a factory gets. `shown` is the URI without credentials, for messages.
struct SourceRequest {
  SourceOptions options;
  IngestSettings settings;
  Uri uri;
  std::string shown;
};

/// Whose its pipelines are.
[[nodiscard]] PipelineOwner OwnerOf(const SourceRequest& request);

/// One factory per kind of source; each starts what it makes.

[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenFile(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenRtspCamera(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenV4l2Camera(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenPushSource(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenTestPicture(const SourceRequest& request);

}  // namespace millrace::ingest
