// Threads of GStreamer's that are nobody else's.
#pragma once

#include <gst/gst.h>

#include "ingest/gst_handles.h"

namespace millrace::ingest {

/// Gives each task a new thread, made by the thread that starts the task, at its priority.
/// GStreamer's own pool shares its threads between all pipelines, at one priority (gstreamer.h).
[[nodiscard]] GstOwned<GstTaskPool> NewOwnThreads();

}  // namespace millrace::ingest
