// Cuts a camera's description of itself (SDP) down to what a source needs.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// Media that are kept: a camera describes a video, its sound, its metadata and a way to speak
/// back.
inline constexpr unsigned kMaxMedia = 16;

/// Cuts each description that `rtspsrc` gets, before anything is made of it. To be called before
/// `rtspsrc` starts.
///
/// - Media after the first kMaxMedia: rtspsrc makes elements and threads for each medium before it
///   chooses one.
/// - "a=ssrc:123 cname:x" (RFC 5576), which keeps several streams of a camera in step. GStreamer
///   makes a field "ssrc-123-cname" of it, GLib keeps the field's name for ever, and the number is
///   another in each session: gst_sdp_media_attributes_to_caps() in
/// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-base/gst-libs/gst/sdp/gstsdpmessage.c
///   Names of other attributes are kept, too; a camera has the same ones in each session.
void TrimDescription(GstElement& rtspsrc);

}  // namespace millrace::ingest
