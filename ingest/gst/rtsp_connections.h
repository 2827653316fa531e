// Bounds what an RTSP camera may answer, and cuts a connection on which it does not stop answering.
//
// GStreamer 1.22 takes the bytes of an answer one by one until it is complete, and cannot be
// stopped in the middle of one: gst_rtsp_connection_flush() waits for its end (`may_cancel` in
// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-base/gst-libs/gst/rtsp/gstrtspconnection.c).
// A header without end keeps it for ever, and a Content-Length is believed up to 2^31 bytes.
// rtspsrc has no property for either, and does not show its connections.
#pragma once

#include <gst/gst.h>

#include <cstddef>

namespace millrace::ingest {

/// A description (SDP) or any other body that is longer fails with "Out of memory". Cameras send a
/// few kilobytes. GStreamer makes some twenty bytes of each.
inline constexpr std::size_t kMostBytesOfRtspBody = 256 << 10;
/// So does a message that is longer with its header, which GStreamer would read for ever.
inline constexpr std::size_t kMostBytesOfRtspMessage = 2 * kMostBytesOfRtspBody;

/// Frees the thread that waits for room in a jitter buffer of `rtspsrc`, which is to end. Where
/// sequence numbers lie far apart, the thread that brings packets waits so, for packets that it
/// would bring itself, and the change to NULL waits for the thread (`JBUF_WAIT_QUEUE` in
/// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-good/gst/rtpmanager/gstrtpjitterbuffer.c).
void FlushJitterBuffers(GstElement& rtspsrc);

/// Notes the connections of `rtspsrc`, for CutRtspConnection(). To be called before it starts.
void NoteRtspConnections(GstElement& rtspsrc);

/// Shuts the newest connection down, if there is one: reads reach its end, writes fail. From any
/// thread.
void CutRtspConnection(GstElement& rtspsrc);

}  // namespace millrace::ingest
