// Before anything of GStreamer's is used.
#pragma once

namespace millrace::ingest {

/// Initializes GStreamer on the first call, and starts no thread. Thread-safe.
void LoadGStreamer();

/// LoadGStreamer(), and the pool of its threads. Thread-safe. GStreamer's own threads run at the
/// priority of whoever calls first, for as long as the process lives.
void InitializeGStreamer();

}  // namespace millrace::ingest
