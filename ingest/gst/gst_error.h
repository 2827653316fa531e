// GStreamer's messages, in our words: a status that says the cause without its credentials.
#pragma once

#include <gst/gst.h>

#include <string_view>

#include "absl/status/status.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/gst/gstreamer.h"

namespace millrace::ingest {

/// The error that `message` carries: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE (another try may
/// help) or FAILED_PRECONDITION (it will not). REQUIRES: an error or a warning message.
[[nodiscard]] absl::Status StatusFromMessage(GstMessage* message);

/// What a message carries: an error, and GStreamer's debug text or null.
struct GstFailure {
  GstOwned<GError> error;
  GstOwned<gchar> detail;
};

/// REQUIRES: an error or a warning message.
[[nodiscard]] GstFailure FailureIn(GstMessage* message);

/// The last line of a debug text, which says why; the lines before say where in GStreamer's code.
/// Empty for null. Borrowed from `detail`.
[[nodiscard]] std::string_view Why(const gchar* detail);

/// What stands for a stream without a picture in it.
[[nodiscard]] absl::Status NoVideo();

/// What `error` says, for errors outside any message, and `detail`, GStreamer's debug text or null.
[[nodiscard]] absl::Status StatusFromError(const GError& error, const gchar* detail);

}  // namespace millrace::ingest
