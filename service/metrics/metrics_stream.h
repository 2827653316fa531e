// The metrics of one camera stream each: what an operator needs to tell which camera or model is
// ill, and no more. A stream has at most 28 series beside the histogram of its delays, whatever its
// stages, so that a server of many streams stays cheap to watch; see
// docs/decisions/0021-twenty-eight-series-a-stream.md.
#pragma once

#include <vector>

#include "prometheus/metric_family.h"
#include "service/metrics/metrics_reading.h"

namespace millrace::service {

/// Families with samples of these streams. What a kind of stream cannot have, no motion where
/// labels teach it, it has no sample of; all others are there from its start.
[[nodiscard]] std::vector<prometheus::MetricFamily> CollectStreamMetrics(
    const StreamReadings& readings);

}  // namespace millrace::service
