// Limits the length of an RTSP camera's answers, and cuts a connection whose answer does not end.
//
// GStreamer 1.22 reads an answer byte by byte until it is complete. It cannot stop in the middle:
// gst_rtsp_connection_flush() waits for the end of the answer. The cause is in
// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-base/gst-libs/gst/rtsp/gstrtspconnection.c
// at `may_cancel`. A header without end blocks GStreamer forever. It accepts a Content-Length up to
// 2^31 bytes. `rtspsrc` has no property for either limit, and does not expose its connections.
#pragma once

#include <gst/gst.h>

#include <cstddef>

namespace millrace::ingest {

/// The maximum length of a description (SDP) or another body. A longer one fails with "Out of
/// memory". Cameras send a few kilobytes. GStreamer uses about twenty bytes of memory for each
/// byte.
inline constexpr std::size_t kMaxRtspBodyBytes = 256 << 10;
/// The maximum length of a message with its header. A longer one fails likewise; GStreamer would
/// read it without limit.
inline constexpr std::size_t kMaxRtspMessageBytes = 2 * kMaxRtspBodyBytes;

/// Frees a thread that waits for space in a jitter buffer of `rtspsrc`, before `rtspsrc` ends. If
/// sequence numbers are far apart, the receiving thread waits for packets that only itself could
/// deliver. The change to NULL then waits for that thread (`JBUF_WAIT_QUEUE` in
/// https://gitlab.freedesktop.org/gstreamer/gstreamer/-/blob/1.22/subprojects/gst-plugins-good/gst/rtpmanager/gstrtpjitterbuffer.c).
void FlushJitterBuffers(GstElement& rtspsrc);

/// Records the connections of `rtspsrc` for CutRtspConnection(). Call it before `rtspsrc` starts.
void NoteRtspConnections(GstElement& rtspsrc);

/// Shuts down the newest connection, if there is one: reads reach the end, writes fail. Any thread
/// may call it.
void CutRtspConnection(GstElement& rtspsrc);

}  // namespace millrace::ingest
