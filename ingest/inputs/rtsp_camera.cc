// rtsp: and rtsps: cameras.
#include <gio/gio.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "ingest/gst/camera_description.h"
#include "ingest/gst/gst_error.h"
#include "ingest/gst/guarded_callback.h"
#include "ingest/gst/redirect_guard.h"
#include "ingest/gst/rtsp_connections.h"
#include "ingest/gst/rtsp_error.h"
#include "ingest/gst/trusted_certificates.h"
#include "ingest/inputs/camera_source.h"
#include "ingest/inputs/source_pipelines.h"
#include "ingest/source/camera_fault.h"
#include "ingest/source/camera_uri.h"
#include "ingest/source/login.h"

namespace millrace::ingest {
namespace {

/// More than eight seconds of 60 Mbit/s. A camera may take that long to its next key frame.
constexpr std::int64_t kMaxUnshownBytes = 64 << 20;

/// The value of rtspsrc's `protocols`. TCP is the default, because lost packets cost a learner
/// whole seconds of damaged pictures.
std::string_view Protocols(Transport transport) {
  switch (transport) {
    case Transport::kTcp:
      return "tcp";
    case Transport::kUdp:
      return "udp+udp-mcast";
    case Transport::kAuto:
      return "udp+udp-mcast+tcp";
  }
  return "tcp";
}

// Encryption needs TCP: over UDP only the RTSP conversation would be encrypted, not the pictures.
// `latency` limits only the wait for reordered packets. TCP timeouts are shorter than the limit for
// the first frame, so that GStreamer reports the cause first. `timeout` is the time that `auto`
// waits for UDP.
std::string Head(const CameraOptions& camera, bool encrypted) {
  constexpr int kUdpBufferBytes = 2 << 20;  // More than a key frame of a 4K camera.
  const std::chrono::microseconds limit = camera.connect_timeout;
  return absl::StrCat("rtspsrc name=source protocols=",
                      std::string(Protocols(encrypted ? Transport::kTcp : camera.transport)),
                      " latency=", camera.latency.count(), " tcp-timeout=", limit.count() * 5 / 8,
                      " timeout=", limit.count() / 4, " udp-buffer-size=", kUdpBufferBytes,
                      " teardown-timeout=100000000 add-reference-timestamp-meta=true",
                      " ! decodebin name=decoder");
}

/// Sets the options' login, or else the URI's. A password in the options may belong to the URI's
/// user.
absl::Status SetLogin(const Login& login, const CameraUri& camera, GstElement& source) {
  if (login.user.empty() && !camera.has_login) return absl::OkStatus();
  const std::string& user = login.user.empty() ? camera.user : login.user;
  std::string password = camera.password;
  if (!login.user.empty() || HasPassword(login)) {
    MILLRACE_ASSIGN_OR_RETURN(password, ReadPassword(login));
  }
  g_object_set(&source, "user-id", user.c_str(), "user-pw", password.c_str(), nullptr);
  return absl::OkStatus();
}

std::string WhatIsWrong(GTlsCertificateFlags errors) {
  static constexpr std::pair<GTlsCertificateFlags, std::string_view> kTexts[] = {
      {G_TLS_CERTIFICATE_UNKNOWN_CA, "no authority that this machine trusts has signed it"},
      {G_TLS_CERTIFICATE_BAD_IDENTITY, "it is another host's"},
      {G_TLS_CERTIFICATE_NOT_ACTIVATED, "it is not valid yet"},
      {G_TLS_CERTIFICATE_EXPIRED, "it has expired"},
      {G_TLS_CERTIFICATE_REVOKED, "it was revoked"},
      {G_TLS_CERTIFICATE_INSECURE, "its algorithm is not safe"}};
  std::vector<std::string> found;
  for (const auto& [flag, text] : kTexts) {
    if ((errors & flag) != 0) found.emplace_back(text);
  }
  return found.empty() ? "it cannot be judged" : absl::StrJoin(found, ", ");
}

/// Reports the cause; GStreamer itself reports only a failed connection.
gboolean OnBadCertificate(GstElement* rtspsrc, GTlsConnection* /*connection*/,
                          GTlsCertificate* /*certificate*/, GTlsCertificateFlags errors,
                          gpointer /*unused*/) {
  return GuardedCallback(rtspsrc, FALSE, [&] {
    const std::string why(StatusOf(CameraFault::kCertificate, WhatIsWrong(errors)).message());
    GST_ELEMENT_ERROR(rtspsrc, RESOURCE, NOT_AUTHORIZED, ("%s", why.c_str()), (nullptr));
    return FALSE;
  });
}

absl::Status SetTls(const Tls& tls, GstElement& source) {
  g_signal_connect(&source, "accept-certificate", G_CALLBACK(OnBadCertificate), nullptr);
  if (!tls.verify) {
    g_object_set(&source, "tls-validation-flags", GTlsCertificateFlags(0), nullptr);
    return absl::OkStatus();
  }
  if (tls.ca_file.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(const TrustedCertificates trusted, ReadTrusted(tls.ca_file));
  g_object_set(&source, "tls-database", trusted.get(), nullptr);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PipelineOptions> RtspPipeline(const SourceRequest& request) {
  const absl::StatusOr<CameraUri> uri = ParseCameraUri(request.uri);
  if (!uri.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.shown, ": ", std::string(uri.status().message())));
  }
  PipelineOptions pipeline{.head = Head(request.options.camera, uri->encrypted),
                           .configure = [uri = *uri, camera = request.options.camera](
                                            GstElement& source) -> absl::Status {
                             const std::string location = LocationOf(uri);
                             g_object_set(&source, "location", location.c_str(), nullptr);
                             TakeVideoOnly(source);
                             NoteRtspConnections(source);
                             RefuseRedirects(location, source);
                             TrimDescription(source);
                             MILLRACE_RETURN_IF_ERROR(SetLogin(camera.login, uri, source));
                             return SetTls(camera.tls, source);
                           },
                           .explain =
                               [uri = *uri](GstElement& source, const GError& error,
                                            const gchar* detail, GCancellable& stop) {
                                 return StatusFromRtspError(uri, source, error, detail, stop);
                               },
                           .width = request.options.width,
                           .height = request.options.height,
                           .hardware_decode = request.options.hardware_decode,
                           .unblock = FlushJitterBuffers,
                           .cut = CutRtspConnection,
                           .max_unshown_bytes = kMaxUnshownBytes};
  if (request.options.camera.isolate) {
    pipeline.task = {.uri = request.options.uri,
                     .width = request.options.width,
                     .height = request.options.height,
                     .hardware_decode = request.options.hardware_decode,
                     .camera = request.options.camera};
  }
  return pipeline;
}

absl::StatusOr<std::unique_ptr<Source>> OpenRtspCamera(const SourceRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(PipelineOptions pipeline, RtspPipeline(request));
  return OpenCamera(request, std::move(pipeline));
}

}  // namespace millrace::ingest
