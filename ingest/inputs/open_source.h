// Opens a source by its URI. Also declares the factories of the kinds of source, and their shared
// settings.
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

/// Opens the source at `options.uri` and starts it.
///
/// Returns after a file has shown its first frame. Errors: a missing file (NOT_FOUND), an unknown
/// scheme or bad option (INVALID_ARGUMENT), an undecodable file (FAILED_PRECONDITION), and a
/// camera's missing password or certificate (FAILED_PRECONDITION). The message has the URI (without
/// credentials), the cause and the remedy. An unreachable camera is no error: the source retries
/// without limit, and status() reports it.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options);

/// OpenSource()'s own decisions, which a test may change.
struct IngestSettings {
  /// Stamps arrivals, and times limits and pacing. Must outlive the source.
  const Clock* clock = &MonotonicClock();
  SessionLimits limits = {};
  BackoffOptions backoff = {};
  std::uint64_t seed = 0;
  /// After one of a camera's pipelines was abandoned, its next session waits for this time,
  /// multiplied by the number of its hanging pipelines. Each hanging pipeline costs memory.
  std::chrono::nanoseconds pause_after_hanging = std::chrono::seconds(10);
  /// The retry interval of a camera with too many hanging pipelines (abandoned_pipelines.h).
  std::chrono::nanoseconds pause_with_too_many = std::chrono::seconds(60);
  EndLimits end = {};
  /// The window in which decoding is checked for lag (lag_watch.h).
  std::chrono::nanoseconds lag_window = std::chrono::seconds(4);
  /// The maximum time to a file's first picture.
  std::chrono::nanoseconds first_picture = std::chrono::seconds(10);
};

/// As OpenSource(options), with settings.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options,
                                                                 const IngestSettings& settings);

/// The error for a URI with an unknown scheme. `shown`: the URI without credentials.
[[nodiscard]] absl::Status UnknownScheme(const Uri& uri, std::string_view shown);

/// The arguments of a factory. `shown` is the URI without credentials, for messages.
struct SourceRequest {
  SourceOptions options;
  IngestSettings settings;
  Uri uri;
  std::string shown;
};

/// The owner of the request's pipelines.
[[nodiscard]] PipelineOwner OwnerOf(const SourceRequest& request);

/// One factory per kind of source. Each starts its source.

[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenFile(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenRtspCamera(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenV4l2Camera(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenPushSource(const SourceRequest& request);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenTestPicture(const SourceRequest& request);

}  // namespace millrace::ingest
