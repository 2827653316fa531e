// The URIs that name sources: `street.avi`, `file:street.avi`, `rtsp://camera/1`,
// `v4l2:/dev/video0`, `push:`, `test:ball`.
//
// A plain path needs no scheme and is taken as it is. `file:` may carry percent-encoded characters,
// as other programs write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::ingest {

/// A URI, cut at its scheme.
struct Uri {
  std::string scheme;  ///< In lower case. Empty for a plain path.
  std::string rest;    ///< What follows the colon, or the whole path.
};

/// What a scheme says a URI names.
enum class SourceKind { kFile, kRtspCamera, kV4l2Camera, kPush, kTestPicture };

/// For messages: what a URI may begin with.
inline constexpr std::string_view kKnownSchemes =
    "a path, file:, rtsp:, rtsps:, v4l2:, push: or test:";

/// nullopt for a scheme that is not known.
[[nodiscard]] std::optional<SourceKind> KindOf(const Uri& uri);

/// Cuts `text` at its scheme. Refuses (INVALID_ARGUMENT) an empty text and control characters,
/// which have no place in a log line. Takes any scheme: KindOf() tells those that
/// exist.
[[nodiscard]] absl::StatusOr<Uri> ParseUri(std::string_view text);

/// The path that a plain path or a `file:` URI names: `file:PATH`, `file:///PATH`,
/// `file://localhost/PATH`. Refuses (INVALID_ARGUMENT) another host and bad percent-encoding.
/// REQUIRES: it is a file's.
[[nodiscard]] absl::StatusOr<std::string> FilePath(const Uri& uri);

}  // namespace millrace::ingest
