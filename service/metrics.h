// What Prometheus sees of the server: every family of metrics, declared in one place.
//
// Values are read when Prometheus asks, each stream's from one snapshot, so that received =
// predicted + dropped + in flight holds within every scrape. docs/metrics.md explains each family.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "service/streams.h"

namespace millrace::service {

/// Collects the metrics of the streams. Thread-safe; what the options name must outlive it.
class Metrics final : public prometheus::Collectable {
 public:
  struct Options {
    const Streams* streams = nullptr;
    /// Viewers of the live page now. May be empty; called at each scrape, from any thread.
    std::function<std::size_t()> viewers = {};
  };

  explicit Metrics(Options options);

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

  /// Everything, the process's own metrics included, in Prometheus' text format.
  [[nodiscard]] std::string Text() const;

 private:
  // Constant after construction.
  const Options options_;
};

}  // namespace millrace::service
