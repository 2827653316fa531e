// What watches the server asks here: /metrics, /healthz and /readyz.
//
// /healthz is 200 as long as the process answers: restart it when it does not.
// /readyz is 200 while every stream can learn, else 503 with a line for each reason. A camera that
// is away is no reason: its stream waits for it, and taking the server out of service would not
// bring it back. A learner that failed, a source that ended or failed for good, and a server that
// is stopping are.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "service/http_message.h"
#include "service/metrics.h"
#include "service/streams.h"

namespace millrace::service {

struct Readiness {
  bool ready = false;
  /// A line for each reason where it is not ready, and for each camera that is away.
  std::string text;
};

/// Judges by what the streams say of themselves.
[[nodiscard]] Readiness JudgeReadiness(const std::vector<StreamSnapshot>& streams, bool stopping);

/// The routes of metrics and probes. What they refer to must outlive the server that has them.
[[nodiscard]] std::vector<HttpRoute> ProbeRoutes(const Metrics& metrics, const Streams& streams,
                                                 const std::atomic<bool>& stopping);

}  // namespace millrace::service
