// Trims a camera's description of itself (SDP) to the parts that a source needs.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// The maximum number of media. A camera describes its video, sound, metadata and a channel back to
/// it.
inline constexpr unsigned kMaxMedia = 16;

/// Trims each description that `rtspsrc` receives, before rtspsrc uses it. Call it before `rtspsrc`
/// starts. It removes:
///
/// - Media after the first kMaxMedia. rtspsrc makes elements and threads for each medium before it
///   chooses one.
/// - "a=ssrc:123 cname:x" (RFC 5576), which synchronizes several streams of a camera. GStreamer
///   turns it into a field "ssrc-123-cname", and GLib never frees the field's name. The number
///   changes in each session, so the memory would grow: gst_sdp_media_attributes_to_caps() in
/// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-base/gst-libs/gst/sdp/gstsdpmessage.c
///   Other attributes stay, because their names are the same in each session.
void TrimDescription(GstElement& rtspsrc);

}  // namespace millrace::ingest
