// Initializes GStreamer. Call it before any other GStreamer function.
#pragma once

namespace millrace::ingest {

/// Initializes GStreamer on the first call, and starts no thread. Thread-safe.
void LoadGStreamer();

/// Calls LoadGStreamer() and starts GStreamer's thread pool. Thread-safe. GStreamer's threads have
/// the first caller's priority until the process ends.
void InitializeGStreamer();

}  // namespace millrace::ingest
