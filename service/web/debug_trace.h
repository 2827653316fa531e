// /debug/trace: what the pipelines of the running server have just done, as a Chrome trace.
//
//   /debug/trace                           all streams, the last five seconds
//   /debug/trace?stream=door&seconds=2     one of them, the last two
//
// For whoever looks after the server, on its own machine: others are refused, whatever the port is
// open to.
#pragma once

#include "base/clock.h"
#include "service/net/http_message.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// A process for each stream, by its name, a track for each of its devices. 403 unless the other
/// end of the connection is this machine; 404 naming the streams there are for one that there is
/// not; 400 for seconds that are none. `clock` is that of the pipelines. Both outlive the route.
[[nodiscard]] HttpRoute DebugTraceRoute(const Streams& streams,
                                        const Clock& clock = MonotonicClock());

}  // namespace millrace::service
