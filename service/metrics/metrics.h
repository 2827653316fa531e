// What Prometheus sees of the server: every family of metrics.
//
// Values are read when Prometheus asks, each stream's from one snapshot, so that received =
// predicted + dropped + in flight holds within every scrape. docs/metrics.md has the table of all
// families, made from what this collects.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "service/access/call_counts.h"
#include "service/metrics/metrics_totals.h"
#include "service/net/connection_bounds.h"
#include "service/registry/config_standing.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// Collects the metrics of the streams. Thread-safe; what the options name must outlive it.
class Metrics final : public prometheus::Collectable {
 public:
  struct Options {
    const Streams* streams = nullptr;
    /// Calls of the API, as the gRPC server counts them. Null: nobody counts.
    const CallCounts* calls = nullptr;
    /// Viewers of the live page now. May be empty; called at each scrape, from any thread.
    std::function<std::size_t()> viewers = {};
    /// What there is at each port, by its name. They must outlive the metrics.
    std::map<std::string, const ConnectionCounts*> connections = {};
    /// Whether the server is what its file says. As `viewers`.
    std::function<ConfigStanding()> configuration = {};
    /// When the certificate of the gRPC port expires, since 1970. As `viewers`.
    std::function<std::optional<nanoseconds>()> certificate_expiry = {};
  };

  explicit Metrics(Options options);

  /// Everything, the process's own metrics included.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override
      ABSL_LOCKS_EXCLUDED(mu_);

  /// The same in Prometheus' text format.
  [[nodiscard]] std::string Text() const;

 private:
  // Constant after construction.
  const Options options_;

  mutable Mutex mu_;  // Held for a whole scrape: totals see the streams in order.
  mutable MetricTotals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
