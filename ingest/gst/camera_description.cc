#include "ingest/gst/camera_description.h"

#include <gst/sdp/gstsdpmessage.h>

#include <string_view>

namespace millrace::ingest {
namespace {

void KeepFirstMedia(GArray& media) {
  if (media.len <= kMaxMedia) return;
  for (guint i = kMaxMedia; i < media.len; ++i) {
    gst_sdp_media_uninit(&g_array_index(&media, GstSDPMedia, i));
  }
  g_array_set_size(&media, kMaxMedia);
}

bool IsOfASource(const GstSDPAttribute& attribute) {
  return attribute.key != nullptr && std::string_view(attribute.key) == "ssrc";
}

void RemoveSourceAttributes(GstSDPMedia& media) {
  for (guint next = gst_sdp_media_attributes_len(&media); next > 0; --next) {
    if (!IsOfASource(*gst_sdp_media_get_attribute(&media, next - 1))) continue;
    gst_sdp_media_remove_attribute(&media, next - 1);
  }
}

/// The signal's handler may change the description, as rtspsrc's documentation says.
void OnDescription(GstElement* /*rtspsrc*/, GstSDPMessage* description, gpointer /*unused*/) {
  GArray& media = *description->medias;
  KeepFirstMedia(media);
  for (guint i = 0; i < media.len; ++i) {
    RemoveSourceAttributes(g_array_index(&media, GstSDPMedia, i));
  }
}

}  // namespace

void TrimDescription(GstElement& rtspsrc) {
  g_signal_connect(&rtspsrc, "on-sdp", G_CALLBACK(OnDescription), nullptr);
}

}  // namespace millrace::ingest
