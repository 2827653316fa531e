// Translates an rtspsrc error to a CameraFault.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

#include "absl/status/status.h"
#include "ingest/source/camera_uri.h"

namespace millrace::ingest {

/// Makes `rtspsrc` set up only the camera's video, and record whether there is any. Call it before
/// `rtspsrc` starts.
void TakeVideoOnly(GstElement& rtspsrc);

/// The cause of `error`, which a pipeline with `rtspsrc` has posted; `detail` is its debug text or
/// null. An error that is not the camera's fault keeps GStreamer's words. If GStreamer does not
/// know why no connection succeeds, the function tries another one (connection_probe.h). It then
/// waits for seconds, until `stop` is cancelled.
[[nodiscard]] absl::Status StatusFromRtspError(const CameraUri& camera, GstElement& rtspsrc,
                                               const GError& error, const gchar* detail,
                                               GCancellable& stop);

}  // namespace millrace::ingest
