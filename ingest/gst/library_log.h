// Sends GStreamer's and GLib's messages to the program's log.
#pragma once

namespace millrace::ingest {

/// From now on, messages go to spdlog's default logger, without logins. GStreamer logs only if the
/// variable GST_DEBUG is set. Call it once, after gst_init() and before a second thread starts.
void LogLibraries();

}  // namespace millrace::ingest
