// Converts GStreamer's messages to a Status with the cause, without credentials.
#pragma once

#include <gst/gst.h>

#include <string_view>

#include "absl/status/status.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/gst/gstreamer.h"

namespace millrace::ingest {

/// The error in `message`: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE (a retry may help) or
/// FAILED_PRECONDITION (a retry will not help). REQUIRES: an error or a warning message.
[[nodiscard]] absl::Status StatusFromMessage(GstMessage* message);

/// The content of a message: an error, and GStreamer's debug text or null.
struct GstFailure {
  GstOwned<GError> error;
  GstOwned<gchar> detail;
};

/// REQUIRES: an error or a warning message.
[[nodiscard]] GstFailure FailureIn(GstMessage* message);

/// The last line of a debug text, which has the cause; the lines before it name the place in
/// GStreamer's code. Empty for null. Borrowed from `detail`.
[[nodiscard]] std::string_view Why(const gchar* detail);

/// The error for a stream without a picture.
[[nodiscard]] absl::Status NoVideo();

/// The status of an error outside a message. `detail` is GStreamer's debug text or null.
[[nodiscard]] absl::Status StatusFromError(const GError& error, const gchar* detail);

}  // namespace millrace::ingest
