// /debug/trace: the latest operations of the running server's pipelines, as a Chrome trace.
//
//   /debug/trace                           all streams, the last five seconds
//   /debug/trace?stream=door&seconds=2     one stream, the last two seconds
//
// Meant for an operator on the server's own machine. Requests from other machines are refused,
// whatever address the port listens on.
#pragma once

#include "base/clock.h"
#include "service/net/http_message.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// The trace has a process for each stream, with the stream's name, and a track for each of its
/// devices. Answers 403 unless the client is on this machine, and 400 if the seconds are invalid.
/// Answers 404 with the existing streams' names if there is no such stream. `clock` is the
/// pipelines' clock. `streams` and `clock` must outlive the route.
[[nodiscard]] HttpRoute DebugTraceRoute(const StreamRegistry& streams,
                                        const Clock& clock = MonotonicClock());

}  // namespace millrace::service
