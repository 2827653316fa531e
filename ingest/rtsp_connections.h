// Bounds what an RTSP camera may answer, and cuts a connection on which it does not stop answering.
//
// GStreamer 1.22 takes the bytes of an answer one by one until it is complete, and cannot be
// stopped in the middle of one: gst_rtsp_connection_flush() waits for its end (`may_cancel` in
// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-base/gst-libs/gst/rtsp/gstrtspconnection.c).
// A header without end keeps it for ever, and a Content-Length is believed up to 2^31 bytes.
// rtspsrc shows its connections to nobody and has no property for either.
#pragma once

#include <gst/gst.h>

#include <cstddef>

namespace millrace::ingest {

/// A description (SDP) or any other body that is longer fails with "Out of memory". Those of
/// cameras have a few kilobytes; GStreamer makes of each byte some twenty of its own.
inline constexpr std::size_t kMostBytesOfRtspBody = 256 << 10;

/// Frees who waits for room in a jitter buffer of `rtspsrc`, which is to end. When sequence numbers
/// lie far apart its thread waits so, for packets that nobody brings: it brings them itself, and
/// going to NULL waits for it (`JBUF_WAIT_QUEUE` in
/// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-good/gst/rtpmanager/gstrtpjitterbuffer.c).
void FlushJitterBuffers(GstElement& rtspsrc);

/// Notes the connections of `rtspsrc`, for CutRtspConnection(). To be called before it starts.
void NoteRtspConnections(GstElement& rtspsrc);

/// Shuts the newest connection down, if there is one: whoever reads from it reaches its end,
/// whoever writes fails. From any thread.
void CutRtspConnection(GstElement& rtspsrc);

}  // namespace millrace::ingest
