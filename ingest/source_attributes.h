// Keeps a camera that comes back again and again from growing this process.
//
// Of each attribute in a camera's description of itself (SDP) GStreamer makes a field, whose name
// GLib keeps for ever. "a=ssrc:123 cname:x" (RFC 5576) becomes the field "ssrc-123-cname", and the
// number is another with each session: gst_sdp_media_attributes_to_caps() in
// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-base/gst-libs/gst/sdp/gstsdpmessage.c
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// Has `rtspsrc` leave a=ssrc out of what a camera says of itself. It would serve to keep several
/// streams of a camera in step, and only one is read. To be called before it starts.
///
/// Names of other attributes are kept all the same; a camera has the same ones in each session.
void LeaveOutSourceAttributes(GstElement& rtspsrc);

}  // namespace millrace::ingest
