// The URIs of sources: `street.avi`, `file:street.avi`, `rtsp://camera/1`, `v4l2:/dev/video0`,
// `push:`, `test:ball`.
//
// A plain path has no scheme and is used unchanged. `file:` may contain percent-encoded characters,
// as other programs write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::ingest {

/// A URI, split after its scheme.
struct Uri {
  std::string scheme;  ///< In lower case. Empty for a plain path.
  std::string rest;    ///< The text after the colon, or the whole path.
};

/// The kind of source that a scheme names.
enum class SourceKind { kFile, kRtspCamera, kV4l2Camera, kPush, kTestPicture };

/// The possible starts of a URI, for messages.
inline constexpr std::string_view kKnownSchemes =
    "a path, file:, rtsp:, rtsps:, v4l2:, push: or test:";

/// nullopt for an unknown scheme.
[[nodiscard]] std::optional<SourceKind> KindOf(const Uri& uri);

/// Splits `text` after its scheme. INVALID_ARGUMENT for an empty text, and for control characters,
/// which would corrupt the log. Accepts any scheme; KindOf() checks it.
[[nodiscard]] absl::StatusOr<Uri> ParseUri(std::string_view text);

/// The path in a plain path or a `file:` URI: `file:PATH`, `file:///PATH`, `file://localhost/PATH`.
/// INVALID_ARGUMENT for another host or bad percent-encoding. REQUIRES: KindOf(uri) ==
/// SourceKind::kFile.
[[nodiscard]] absl::StatusOr<std::string> FilePath(const Uri& uri);

/// The device in a `v4l2:` URI: `v4l2:/dev/video0`. INVALID_ARGUMENT if it names none. REQUIRES:
/// KindOf(uri) == SourceKind::kV4l2Camera.
[[nodiscard]] absl::StatusOr<std::string> DevicePath(const Uri& uri);

}  // namespace millrace::ingest
