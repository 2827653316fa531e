// What is counted over all streams of the server together.
//
// Events that are rare, or that nobody asks one stream about, have no series of each stream: the
// log names the stream. A counter must not fall when a stream is deleted, or Prometheus would take
// it for a restart. So what streams had counted is kept.
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
  /// The families, of the streams that there are and those that there were. What a stream counted
  /// after the last call before it was deleted is lost. REQUIRES: `readings` are newer than those
  /// before.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect(const StreamReadings& readings);

 private:
  using Sums = std::vector<double>;  // In the order of the table in the source.

  [[nodiscard]] Sums Add(const StreamReadings& readings);

  Sums past_;
  // What each stream that there is had counted last, by the id of its life.
  std::map<std::string, Sums> last_;
};

}  // namespace millrace::service
