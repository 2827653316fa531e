// GStreamer's and GLib's own messages, in the program's log instead of beside it.
#pragma once

namespace millrace::ingest {

/// From now on they go to spdlog's default logger, without logins. How much GStreamer has to say
/// the variable GST_DEBUG decides: nothing, unless it is set. To be called once, after gst_init()
/// and before a second thread.
void LogLibraries();

}  // namespace millrace::ingest
