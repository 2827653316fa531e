#include "ingest/media_limit.h"

#include <gst/sdp/gstsdpmessage.h>

namespace millrace::ingest {
namespace {

/// When the camera has described itself, and before anything is made of it.
void OnDescription(GstElement* /*rtspsrc*/, GstSDPMessage* description, gpointer /*unused*/) {
  GArray* const media = description->medias;
  if (media->len <= kMostMedia) return;
  for (guint i = kMostMedia; i < media->len; ++i) {
    gst_sdp_media_uninit(&g_array_index(media, GstSDPMedia, i));
  }
  g_array_set_size(media, kMostMedia);
}

}  // namespace

void LimitMedia(GstElement& rtspsrc) {
  g_signal_connect(&rtspsrc, "on-sdp", G_CALLBACK(OnDescription), nullptr);
}

}  // namespace millrace::ingest
