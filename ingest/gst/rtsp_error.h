// What an error of rtspsrc means, in the words of CameraFault.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

#include "absl/status/status.h"
#include "ingest/source/camera_uri.h"

namespace millrace::ingest {

/// Has `rtspsrc` set up the camera's video only, and note whether there is any. To be called before
/// it starts.
void TakeVideoOnly(GstElement& rtspsrc);

/// What `error` means, which a pipeline with `rtspsrc` has posted, and `detail`, its debug text or
/// null. An error that is not the camera's fault keeps GStreamer's words. If GStreamer does not
/// know why no connection comes about, another one is tried (connection_probe.h): the call then
/// waits for seconds, until `stop` is cancelled.
[[nodiscard]] absl::Status StatusFromRtspError(const CameraUri& camera, GstElement& rtspsrc,
                                               const GError& error, const gchar* detail,
                                               GCancellable& stop);

}  // namespace millrace::ingest
