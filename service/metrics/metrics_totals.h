// Counters over all streams of the server together.
//
// Rare events, and events that are not needed per stream, have no series per stream: the log names
// the stream. A counter must not fall when a stream is deleted, or Prometheus would take the fall
// for a restart. So the counts of deleted streams are kept.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "prometheus/metric_family.h"
#include "service/metrics/metrics_reading.h"

namespace millrace::service {

/// Sums that never fall. For one thread at a time.
class MetricTotals {
 public:
  /// The families, summed over existing and deleted streams. Events between the last call and a
  /// stream's deletion are lost. REQUIRES: `readings` are newer than those of the call before.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect(const StreamReadings& readings);

 private:
  using Sums = std::vector<double>;  // In the order of the table in the source.

  [[nodiscard]] Sums Add(const StreamReadings& readings);

  Sums past_;
  // The last counts of each existing stream, keyed by run_id.
  std::map<std::string, Sums> last_;
};

}  // namespace millrace::service
