// Finds the cause of a failed connection to a camera.
//
// GStreamer 1.22 does not keep the cause: an unknown name, a refusal and a missing route are all
// "Generic error". So the probe makes one connection without GStreamer and closes it at once.
#pragma once

#include <gio/gio.h>

#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace millrace::ingest {

/// Connects to `port` of `host`, sends nothing, and closes the connection. Returns a CameraFault's
/// status, or OK if the connection succeeds. Waits at most `limit` for each address of the host,
/// and without limit for the name server; cancelling `stop` ends the wait. Thread-safe.
[[nodiscard]] absl::Status ProbeConnection(const std::string& host, int port,
                                           std::chrono::seconds limit, GCancellable& stop);

}  // namespace millrace::ingest
