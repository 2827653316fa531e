#include "ingest/gst/rtsp_error.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "ingest/gst/connection_probe.h"
#include "ingest/gst/gst_error.h"
#include "ingest/source/camera_fault.h"

namespace millrace::ingest {
namespace {

constexpr std::chrono::seconds kProbeLimit{5};
constexpr const char* kHasVideo = "millrace-has-video";

/// Accepts the camera's video, and refuses its sound and metadata.
gboolean IsVideo(GstElement* rtspsrc, guint /*number*/, GstCaps* caps, gpointer /*unused*/) {
  const gchar* media = gst_structure_get_string(gst_caps_get_structure(caps, 0), "media");
  const bool video = media != nullptr && std::strcmp(media, "video") == 0;
  if (video) g_object_set_data(G_OBJECT(rtspsrc), kHasVideo, GINT_TO_POINTER(1));
  return video ? TRUE : FALSE;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The code in "Not Enough Bandwidth (453)"; 0 if the text has no code at its end.
int RtspAnswerOf(std::string_view text) {
  const std::size_t open = text.rfind('(');
  int code = 0;
  if (open == std::string_view::npos || !text.ends_with(')')) return 0;
  const std::string_view digits = text.substr(open + 1, text.size() - open - 2);
  return absl::SimpleAtoi(std::string(digits), &code) ? code : 0;
}

bool HasLogin(GstElement& rtspsrc) {
  gchar* user = nullptr;
  g_object_get(&rtspsrc, "user-id", &user, nullptr);
  const std::unique_ptr<gchar, void (*)(gpointer)> owned(user, g_free);
  return user != nullptr && *user != '\0';
}

std::optional<CameraFault> FaultOfAnswer(int code, GstElement& rtspsrc) {
  switch (code) {
    case 401:
    case 407:
      return HasLogin(rtspsrc) ? CameraFault::kUnauthorized : CameraFault::kNoLogin;
    case 403:
      return CameraFault::kForbidden;
    case 404:
    case 410:
      return CameraFault::kNotFound;
    case 453:
    case 503:
      return CameraFault::kCrowded;
    default:
      return code >= 300 ? std::optional(CameraFault::kErrorAnswer) : std::nullopt;
  }
}

/// The fault for rtspsrc's message about the end of a conversation.
std::optional<CameraFault> FaultOfConversation(std::string_view why) {
  if (!why.starts_with("Could not receive message.")) return std::nullopt;
  if (Contains(why, "(Timeout")) return CameraFault::kSilent;
  if (Contains(why, "(Parse error)")) return CameraFault::kNotRtsp;
  if (Contains(why, "(Out of memory)")) return CameraFault::kTooLong;  // See kMaxRtspBodyBytes.
  return CameraFault::kHangsUp;
}

bool IsWithoutConnection(const GError& error, std::string_view why) {
  return error.domain == GST_RESOURCE_ERROR && why.starts_with("Failed to connect.");
}

absl::Status WhyNoConnection(const CameraUri& camera, std::string_view why, GCancellable& stop) {
  if (Contains(why, "(Timeout")) return StatusOf(CameraFault::kUnanswered);
  absl::Status probed = ProbeConnection(camera.host, camera.port, kProbeLimit, stop);
  if (!probed.ok()) return probed;
  return StatusOf(camera.encrypted ? CameraFault::kNoTls : CameraFault::kNoConnection);
}

/// Whether rtspsrc has set up no stream. A missing decoder has the same code, but also a detail.
bool IsWithoutStream(const GError& error, std::string_view why) {
  return error.domain == GST_STREAM_ERROR && error.code == GST_STREAM_ERROR_CODEC_NOT_FOUND &&
         why.empty();
}

}  // namespace

void TakeVideoOnly(GstElement& rtspsrc) {
  g_signal_connect(&rtspsrc, "select-stream", G_CALLBACK(IsVideo), nullptr);
}

absl::Status StatusFromRtspError(const CameraUri& camera, GstElement& rtspsrc, const GError& error,
                                 const gchar* detail, GCancellable& stop) {
  const std::string_view why = Why(detail);
  if (IsWithoutConnection(error, why)) return WhyNoConnection(camera, why, stop);
  if (const std::optional<CameraFault> fault = FaultOfConversation(why)) return StatusOf(*fault);
  if (error.domain == GST_RESOURCE_ERROR) {
    if (const auto fault = FaultOfAnswer(RtspAnswerOf(why), rtspsrc)) {
      return StatusOf(*fault, *fault == CameraFault::kErrorAnswer ? why : std::string_view());
    }
  }
  if (Contains(why, "SDP contains no streams")) return StatusOf(CameraFault::kNoVideo);
  if (Contains(why, "no protocols left")) return StatusOf(CameraFault::kTransport);
  if (IsWithoutStream(error, why)) {
    const bool has_video = g_object_get_data(G_OBJECT(&rtspsrc), kHasVideo) != nullptr;
    return StatusOf(has_video ? CameraFault::kTransport : CameraFault::kNoVideo);
  }
  return StatusFromError(error, detail);
}

}  // namespace millrace::ingest
