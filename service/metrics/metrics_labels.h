// The metrics of streams that learn from labels.
#pragma once

#include <vector>

#include "prometheus/metric_family.h"
#include "service/metrics/metrics_reading.h"

namespace millrace::service {

/// Families with samples of only those streams that learn from labels.
[[nodiscard]] std::vector<prometheus::MetricFamily> CollectLabelMetrics(
    const StreamReadings& readings);

}  // namespace millrace::service
