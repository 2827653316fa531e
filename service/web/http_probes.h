// Answers monitoring systems: /metrics, and the probes /startupz, /healthz and /readyz, which do
// not wait for /metrics.
//
// /startupz is 200 once it answers at all: this server starts when every stream has.
// /healthz is 200 while the process is alive, else 503 with a line for each reason; see Liveness.
// It asks every stream how it is, so that one whose locks hang keeps it from answering. Restart it
// when it says 503, or nothing.
// /readyz is 200 while the server should get requests, else 503 with a line for each reason; see
// JudgeReadiness().
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "service/health/liveness.h"
#include "service/metrics/metrics.h"
#include "service/net/http_message.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// The routes of metrics and probes. What they refer to must outlive the server that has them.
[[nodiscard]] std::vector<HttpRoute> ProbeRoutes(const Metrics& metrics, const Streams& streams,
                                                 Liveness& liveness,
                                                 const std::atomic<bool>& stopping);

}  // namespace millrace::service
