// Builds families of metrics at scrape time, one sample at a time.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"

namespace millrace::service {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// A family under construction. For one thread.
class MetricBuilder {
 public:
  MetricBuilder(std::string name, std::string help, prometheus::MetricType type);

  /// Appends a sample. REQUIRES: the type is Counter or Gauge.
  MetricBuilder& Add(const MetricLabels& labels, double value);
  /// Appends a sample that was collected elsewhere, such as a histogram's.
  MetricBuilder& Add(const MetricLabels& labels, prometheus::ClientMetric sample);

  [[nodiscard]] prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

}  // namespace millrace::service
