#include "service/metrics/metrics_family.h"

namespace millrace::service {

MetricBuilder::MetricBuilder(std::string name, std::string help, prometheus::MetricType type) {
  family_.name = std::move(name);
  family_.help = std::move(help);
  family_.type = type;
}

MetricBuilder& MetricBuilder::Add(const MetricLabels& labels, double value) {
  prometheus::ClientMetric sample;
  if (family_.type == prometheus::MetricType::Counter) {
    sample.counter.value = value;
  } else {
    sample.gauge.value = value;
  }
  return Add(labels, std::move(sample));
}

MetricBuilder& MetricBuilder::Add(const MetricLabels& labels, prometheus::ClientMetric sample) {
  for (const auto& [name, value] : labels) {
    sample.label.push_back({.name = name, .value = value});
  }
  family_.metric.push_back(std::move(sample));
  return *this;
}

}  // namespace millrace::service
