// Keeps a camera that describes a thousand videos from taking a thousand threads.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// rtspsrc makes elements and threads for each medium of a camera's description (SDP) before it
/// chooses one. Cameras describe a video, its sound, its metadata and a way to speak back.
constexpr unsigned kMostMedia = 16;

/// Has `rtspsrc` forget all media of a description but the first kMostMedia. To be called before it
/// starts.
void LimitMedia(GstElement& rtspsrc);

}  // namespace millrace::ingest
