// The faults of a camera, in the words of the log, the page and docs/cameras.md.
//
// There is one table, and a test compares it with the documentation. GStreamer's own words
// ("Generic error") name neither the cause nor a remedy.
#pragma once

#include <array>
#include <string_view>

#include "absl/status/status.h"

namespace millrace::ingest {

/// The cause of an RTSP camera without pictures.
enum class CameraFault {
  kUnknownName,
  kNoNameServer,
  kRefused,
  kNoRoute,
  kNoConnection,
  kUnanswered,
  kSilent,
  kHangsUp,
  kNotRtsp,
  kTooLong,
  kNoTls,
  kCertificate,
  kNoLogin,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kCrowded,
  kErrorAnswer,
  kNoVideo,
  kTransport,
};

struct CameraFaultText {
  CameraFault fault;
  absl::StatusCode code;
  std::string_view what;
  std::string_view remedy;
};

/// All faults, in the order of CameraFault.
inline constexpr std::array<CameraFaultText, 20> kCameraFaults = {{
    {CameraFault::kUnknownName, absl::StatusCode::kUnavailable, "this machine knows no such host",
     "check the name, or write the camera's IP address"},
    {CameraFault::kNoNameServer, absl::StatusCode::kUnavailable,
     "no DNS server answers to its name",
     "check this machine's network, or write the camera's IP address"},
    {CameraFault::kRefused, absl::StatusCode::kUnavailable,
     "connection refused: nothing listens at its port",
     "check the port, and that the camera is on and has RTSP switched on"},
    {CameraFault::kNoRoute, absl::StatusCode::kUnavailable, "no route leads to its address",
     "check the address, and this machine's network"},
    {CameraFault::kNoConnection, absl::StatusCode::kUnavailable, "no connection to it comes about",
     "check its address, its port and this machine's network"},
    {CameraFault::kUnanswered, absl::StatusCode::kUnavailable, "it does not answer at its address",
     "check the address, that the camera is on, and firewalls on the way"},
    {CameraFault::kSilent, absl::StatusCode::kUnavailable,
     "it accepts the connection and says nothing",
     "close other viewers, or restart the camera; one that wakes up slowly needs a longer "
     "source.connect_timeout_ms"},
    {CameraFault::kHangsUp, absl::StatusCode::kUnavailable,
     "it ends the connection without an answer",
     "check the port; a camera that speaks TLS only needs rtsps:"},
    {CameraFault::kNotRtsp, absl::StatusCode::kUnavailable, "its port does not speak RTSP",
     "check the port; most cameras have 554, and their web pages another"},
    {CameraFault::kTooLong, absl::StatusCode::kUnavailable,
     "its answer is too long (over 256 KiB, or 512 KiB with its header), as no camera's is",
     "check the host and the port; update or restart the camera"},
    {CameraFault::kNoTls, absl::StatusCode::kUnavailable,
     "no TLS connection to its port comes about",
     "write rtsp:, or the port that the camera has for rtsps:; old TLS needs newer firmware"},
    {CameraFault::kCertificate, absl::StatusCode::kPermissionDenied,
     "the camera's certificate is refused",
     "name its certificate, or that of who signed it, in source.tls_ca_file"},
    {CameraFault::kNoLogin, absl::StatusCode::kPermissionDenied,
     "401 Unauthorized: it needs a user and a password, and no user is configured",
     "write them into the URI, or into source.user and source.password_file"},
    {CameraFault::kUnauthorized, absl::StatusCode::kPermissionDenied,
     "401 Unauthorized: it does not accept this user and password",
     "write the right ones into the URI, or into source.user and source.password_file"},
    {CameraFault::kForbidden, absl::StatusCode::kPermissionDenied,
     "403 Forbidden: this user may not watch", "allow it in the camera, or take another user"},
    {CameraFault::kNotFound, absl::StatusCode::kNotFound, "404 Not Found: it has no such path",
     "take the path from its manual; docs/cameras.md has those of many brands"},
    {CameraFault::kCrowded, absl::StatusCode::kUnavailable, "it has no room for another viewer",
     "close other viewers, or take its smaller stream"},
    {CameraFault::kErrorAnswer, absl::StatusCode::kUnavailable, "it answers with an error",
     "check the path and source.transport, or restart the camera"},
    {CameraFault::kNoVideo, absl::StatusCode::kFailedPrecondition, "it sends no video",
     "take the path of its video from its manual"},
    {CameraFault::kTransport, absl::StatusCode::kFailedPrecondition,
     "it sends its video by no transport that source.transport allows",
     "set source.transport to auto; for rtsps:, switch TCP on in the camera"},
}};

/// "WHAT: DETAIL; REMEDY". `detail` may be empty, and must not contain a login.
[[nodiscard]] absl::Status StatusOf(CameraFault fault, std::string_view detail = {});

}  // namespace millrace::ingest
