// What somebody publishes to an RTSP server (RECORD), served on as it is.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>

/// Takes what one at a time publishes at `/publish`, in `codec` (h264 or h265), and serves it at
/// `path` to whoever comes, while it is published; else there is nothing at `path` (404). Until the
/// program ends.
void MountPublished(GstRTSPServer* server, const std::string& codec, const char* path);
