// All families of metrics that Prometheus reads from the server.
//
// Values are read at scrape time, each stream's from one snapshot. So received = predicted +
// dropped + in flight holds within every scrape. docs/metrics.md has the table of all families,
// generated from this collector.
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
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// Collects the metrics of the streams. Thread-safe. Objects that the options refer to must outlive
/// it.
class Metrics final : public prometheus::Collectable {
 public:
  struct Options {
    const StreamRegistry* streams = nullptr;
    /// Calls of the API, counted by the gRPC server. Null: no such metric.
    const CallCounts* calls = nullptr;
    /// Current viewers of the live page. May be empty. Called at each scrape, from any thread.
    std::function<std::size_t()> viewers = {};
    /// Connections of each port, keyed by the port's name. The counts must outlive the metrics.
    std::map<std::string, const ConnectionCounts*> connections = {};
    /// Whether the running server matches its configuration file. Called like `viewers`.
    std::function<ConfigStanding()> configuration = {};
    /// When the gRPC port's certificate expires, since 1970. Called like `viewers`.
    std::function<std::optional<nanoseconds>()> certificate_expiry = {};
  };

  explicit Metrics(Options options);

  /// All families, the process's own included.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override
      ABSL_LOCKS_EXCLUDED(mu_);

  /// The same in Prometheus' text format.
  [[nodiscard]] std::string Text() const;

 private:
  // Constant after construction.
  const Options options_;

  mutable Mutex mu_;  // Held for a whole scrape, so that totals read the streams in order.
  mutable MetricTotals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
