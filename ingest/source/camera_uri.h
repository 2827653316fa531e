// The address of an RTSP camera: `rtsp://user:password@camera.local/stream1`.
//
// GLib's GUri parses it in relaxed mode, because people do not encode their passwords. GStreamer's
// parser differs: it finds another host in `user:p@ss@camera`, needs a password with a user, and
// uses port 554 for `rtsps:`. So rtspsrc gets a new location, made from GUri's result without the
// login.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/source/uri.h"

namespace millrace::ingest {

/// The parts of a camera's URI.
struct CameraUri {
  bool encrypted = false;  ///< rtsps:
  /// A name, an IPv4 address, or an IPv6 address without brackets. Names outside ASCII are in IDNA
  /// form.
  std::string host = {};
  int port = 0;  ///< Never 0: by default 554 for rtsp: and 322 for rtsps:.
  bool has_login = false;
  std::string user = {};      ///< Decoded.
  std::string password = {};  ///< Decoded. Empty if the URI has only a user.
  /// Path and query, percent-encoded as sent to the camera. May be empty.
  std::string path = {};
};

/// Parses `uri`. INVALID_ARGUMENT if it names no camera or is ambiguous. The message fits behind
/// the URI's name or key, gives the remedy, and shows no part of the URI. Thread-safe. REQUIRES:
/// KindOf(uri) == SourceKind::kRtspCamera.
[[nodiscard]] absl::StatusOr<CameraUri> ParseCameraUri(const Uri& uri);

/// The URI for rtspsrc, without the login. RTSP's default port is left out, as people usually do.
[[nodiscard]] std::string LocationOf(const CameraUri& camera);

}  // namespace millrace::ingest
