// Answers monitoring systems: /metrics, and the probes /startupz, /healthz and /readyz, which do
// not wait for /metrics.
//
// - /startupz answers 200 as soon as the server answers at all: the web server starts after all
//   streams.
// - /healthz answers 200 while the process works, else 503 with one line for each reason; see
//   Liveness. It queries every stream, so a deadlocked stream keeps it from answering. Restart the
//   server if /healthz answers 503 or does not answer.
// - /readyz answers 200 while the server should get requests, else 503 with one line for each
//   reason; see JudgeReadiness().
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "service/health/liveness.h"
#include "service/metrics/metrics.h"
#include "service/net/http_message.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// The routes of metrics and probes. The arguments must outlive the server that has these routes.
[[nodiscard]] std::vector<HttpRoute> ProbeRoutes(const Metrics& metrics,
                                                 const StreamRegistry& streams, Liveness& liveness,
                                                 const std::atomic<bool>& stopping);

}  // namespace millrace::service
