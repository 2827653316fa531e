// Serves a video that a client publishes to the RTSP server (RECORD), unchanged.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>

/// Takes the video of one publisher at a time at `/publish`, in `codec` (h264 or h265), and serves
/// it at `path`. Without a publisher, clients of `path` get 404. Works until the program ends.
void MountPublished(GstRTSPServer* server, const std::string& codec, const char* path);
