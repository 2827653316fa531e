// Finds out why no connection to a camera comes about.
//
// GStreamer 1.22 forgets the cause: an unknown name, a refusal and a missing route are all "Generic
// error". So one connection is tried without it, and ended at once.
#pragma once

#include <gio/gio.h>

#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace millrace::ingest {

/// Connects to `port` of `host`, says nothing, and hangs up. Returns the failure in the words of
/// CameraFault, or OK if the connection comes about. Waits for `limit` at each of the host's
/// addresses, and for the name server as long as that takes, until `stop` is cancelled.
/// Thread-safe.
[[nodiscard]] absl::Status ProbeConnection(const std::string& host, int port,
                                           std::chrono::seconds limit, GCancellable& stop);

}  // namespace millrace::ingest
