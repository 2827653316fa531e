// GStreamer's messages, in our words: a status that says the cause without its credentials.
#pragma once

#include <gst/gst.h>

#include <string>

#include "absl/status/status.h"
#include "ingest/gstreamer.h"

namespace millrace::ingest {

/// The error that `message` carries: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE (another try may
/// help) or FAILED_PRECONDITION (it will not). REQUIRES: an error or a warning message.
[[nodiscard]] absl::Status StatusFromMessage(GstMessage* message);

/// What stands for a stream without a picture in it.
[[nodiscard]] absl::Status NoVideo();

/// What `error` says, for errors outside any message, and `detail`, GStreamer's debug text or null.
[[nodiscard]] absl::Status StatusFromError(const GError& error, const gchar* detail);

}  // namespace millrace::ingest
