// GStreamer's and GLib's own messages, in the program's log instead of beside it.
#pragma once

namespace millrace::ingest {

/// From now on they go to spdlog's default logger, without logins. GStreamer has something to say
/// only where the variable GST_DEBUG asks for it. To be called once, after gst_init() and before a
/// second thread.
void LogLibraries();

}  // namespace millrace::ingest
