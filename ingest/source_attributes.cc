#include "ingest/source_attributes.h"

#include <gst/sdp/gstsdpmessage.h>

#include <string_view>

namespace millrace::ingest {
namespace {

bool IsOfASource(const GstSDPAttribute& attribute) {
  return attribute.key != nullptr && std::string_view(attribute.key) == "ssrc";
}

/// When the camera has described itself, and before anything is made of it.
void OnDescription(GstElement* /*rtspsrc*/, GstSDPMessage* description, gpointer /*unused*/) {
  for (guint i = 0; i < gst_sdp_message_medias_len(description); ++i) {
    // The description is the signal's to change, as rtspsrc's documentation says.
    auto* const media = const_cast<GstSDPMedia*>(gst_sdp_message_get_media(description, i));
    for (guint next = gst_sdp_media_attributes_len(media); next > 0; --next) {
      if (!IsOfASource(*gst_sdp_media_get_attribute(media, next - 1))) continue;
      gst_sdp_media_remove_attribute(media, next - 1);
    }
  }
}

}  // namespace

void LeaveOutSourceAttributes(GstElement& rtspsrc) {
  g_signal_connect(&rtspsrc, "on-sdp", G_CALLBACK(OnDescription), nullptr);
}

}  // namespace millrace::ingest
