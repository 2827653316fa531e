// Metrics of the process itself, which prometheus-cpp lacks. They have the names that every
// Prometheus client library uses, and are read from /proc.
#pragma once

#include <vector>

#include "prometheus/metric_family.h"

namespace millrace::service {

/// CPU time, memory, file descriptors, threads and start time of this process. Omits a value that
/// /proc does not give.
[[nodiscard]] std::vector<prometheus::MetricFamily> CollectProcessMetrics();

}  // namespace millrace::service
