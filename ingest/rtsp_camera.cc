// rtsp: and rtsps: cameras.
#include <gst/rtsp/gstrtspurl.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ingest/camera_source.h"
#include "ingest/gst_error.h"

namespace millrace::ingest {
namespace {

// TCP, because a camera's lost packets cost a learner whole seconds of damaged pictures. `latency`
// bounds only the wait for reordered packets. TCP timeouts end before the first-frame limit does,
// so that GStreamer can say the cause.
constexpr char kHead[] =
    "rtspsrc name=source protocols=tcp latency=100 tcp-timeout=5000000"
    " teardown-timeout=100000000 add-reference-timestamp-meta=true"
    " ! decodebin name=decoder";

/// Fails unless GStreamer can read `uri` as an RTSP URL with a host and a port.
absl::Status CheckUrl(const std::string& uri, const std::string& shown) {
  GstRTSPUrl* url = nullptr;
  const bool parsed = gst_rtsp_url_parse(uri.c_str(), &url) == GST_RTSP_OK;
  const bool complete =
      parsed && url->host != nullptr && std::strlen(url->host) > 0 && url->port != 0;
  if (parsed) gst_rtsp_url_free(url);
  if (complete) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(shown, ": is no RTSP URI: write rtsp://USER:PASSWORD@HOST:PORT/PATH, user and ",
                   "port only where the camera needs them, special characters percent-encoded"));
}

/// Sets up the camera's video and refuses its sound and metadata.
gboolean IsVideo(GstElement* /*rtspsrc*/, guint /*number*/, GstCaps* caps, gpointer /*unused*/) {
  const gchar* media = gst_structure_get_string(gst_caps_get_structure(caps, 0), "media");
  return media != nullptr && std::strcmp(media, "video") == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenRtspCamera(const SourceRequest& request) {
  const std::string uri = absl::StrCat(request.uri.scheme, ":", request.uri.rest);
  InitializeGStreamer();
  if (absl::Status checked = CheckUrl(uri, request.shown); !checked.ok()) return checked;
  PipelineOptions pipeline{.head = kHead,
                           .configure =
                               [uri](GstElement& source) {
                                 g_object_set(&source, "location", uri.c_str(), nullptr);
                                 g_signal_connect(&source, "select-stream", G_CALLBACK(IsVideo),
                                                  nullptr);
                               },
                           .width = request.options.width,
                           .height = request.options.height};
  return OpenCamera(request, std::move(pipeline));
}

}  // namespace millrace::ingest
