// The address of an RTSP camera: `rtsp://user:password@camera.local/stream1`.
//
// GLib's GUri parses it, in the relaxed way, because people write passwords as they are.
// GStreamer's own parser finds another host than GUri in `user:p@ss@camera`, knows no user without
// a password, and takes port 554 for `rtsps:`. Therefore rtspsrc gets a location that is written
// anew from what GUri has found, without the login.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/source/uri.h"

namespace millrace::ingest {

/// Where a camera is, and who asks.
struct CameraUri {
  bool encrypted = false;  ///< rtsps:
  /// A name, an IPv4 address, or an IPv6 address without its brackets. Names beyond ASCII are in
  /// IDNA's form.
  std::string host = {};
  int port = 0;  ///< Never 0: 554 for rtsp: and 322 for rtsps: where the URI has none.
  bool has_login = false;
  std::string user = {};      ///< Decoded.
  std::string password = {};  ///< Decoded. Empty where the URI has a user alone.
  /// Path and query, percent-encoded, as the camera is asked for them. May be empty.
  std::string path = {};
};

/// Takes `uri` apart. Fails with INVALID_ARGUMENT where it names no camera, or could name two; the
/// message follows the name of the URI or its key, says what to write instead, and shows no part of
/// the URI. Thread-safe. REQUIRES: KindOf(uri) == SourceKind::kRtspCamera.
[[nodiscard]] absl::StatusOr<CameraUri> ParseCameraUri(const Uri& uri);

/// The URI for rtspsrc, without the login. RTSP's own port is left out, as most people do.
[[nodiscard]] std::string LocationOf(const CameraUri& camera);

}  // namespace millrace::ingest
