// The metrics of streams that learn from labels.
#pragma once

#include <span>
#include <vector>

#include "prometheus/metric_family.h"
#include "service/camera_stream.h"

namespace millrace::service {

/// Families with samples of those streams alone that learn from labels.
[[nodiscard]] std::vector<prometheus::MetricFamily> CollectLabelMetrics(
    std::span<const StreamSnapshot* const> streams);

}  // namespace millrace::service
