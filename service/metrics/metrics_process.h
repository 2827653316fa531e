// Metrics of the process itself, which prometheus-cpp does not have: the names that every
// Prometheus client library gives them, read from /proc.
#pragma once

#include <vector>

#include "prometheus/metric_family.h"

namespace millrace::service {

/// CPU time, memory, file descriptors, threads and start time of this process. A figure that /proc
/// does not give is left out.
[[nodiscard]] std::vector<prometheus::MetricFamily> CollectProcessMetrics();

}  // namespace millrace::service
