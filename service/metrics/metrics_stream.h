// The metrics of each camera stream: enough for an operator to tell which camera or model has a
// problem, and no more. A stream has at most 28 series beside the histogram of its delays, whatever
// its stages. So a server with many streams stays cheap to monitor; see
// docs/decisions/0021-twenty-eight-series-a-stream.md.
#pragma once

#include <vector>

#include "prometheus/metric_family.h"
#include "service/metrics/metrics_reading.h"

namespace millrace::service {

/// Families with samples of these streams. A stream lacks the samples that its kind cannot have,
/// such as "no motion" for a stream with labels. All others exist from its start.
[[nodiscard]] std::vector<prometheus::MetricFamily> CollectStreamMetrics(
    const StreamReadings& readings);

}  // namespace millrace::service
