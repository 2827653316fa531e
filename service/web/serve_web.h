// Both web servers of `millrace serve`: the live page, and the server for monitoring. They use
// plain text and no authentication, so they listen at Listen::web_address().
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/access/admission.h"
#include "service/config/config.h"
#include "service/health/liveness.h"
#include "service/metrics/metrics.h"
#include "service/net/self_dial.h"
#include "service/registry/config_standing.h"
#include "service/web/http_server.h"
#include "service/web/live_page.h"
#include "service/web/page_control.h"

namespace millrace::service {

/// Serves until destruction. For one thread. Objects that the options refer to must outlive it.
class ServeWeb {
 public:
  struct Options {
    Listen listen = {};
    const StreamRegistry* streams = nullptr;
    Liveness* liveness = nullptr;
    /// As in Metrics::Options.
    const CallCounts* calls = nullptr;
    /// Counts of the gRPC port; null: no gRPC port.
    const ConnectionCounts* grpc_connections = nullptr;
    ConnectionLimits page_limits = {};
    ConnectionLimits probe_limits = {};
    /// As in Metrics::Options.
    std::function<ConfigStanding()> configuration = {};
    std::function<std::optional<nanoseconds>()> certificate_expiry = {};
    const Clock* clock = &MonotonicClock();
  };

  /// Fails with UNAVAILABLE if it cannot listen on a port, and otherwise as Admission::Make() does.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ServeWeb>> Start(Options options);

  ServeWeb(const ServeWeb&) = delete;
  ServeWeb& operator=(const ServeWeb&) = delete;

  /// From now on /readyz answers 503 and the page shows that the server stops. Idempotent.
  void AnnounceStop() { stopping_ = true; }
  /// Announces the stop, begins to stop both servers and returns at once. An open page still gets
  /// pending answers. The destructor waits for the end. Idempotent.
  void BeginStop();

  /// The addresses of both servers.
  [[nodiscard]] std::vector<SelfDial::Port> ports() const;
  [[nodiscard]] std::string page_url() const { return page_server_->url(); }
  [[nodiscard]] std::string metrics_url() const { return probe_server_->url() + "/metrics"; }

 private:
  ServeWeb(Options options, std::unique_ptr<Admission> admission);
  [[nodiscard]] std::map<std::string, const ConnectionCounts*> Connections() const;

  // Constant after construction.
  const Options options_;
  const std::unique_ptr<Admission> admission_;

  // Self-synchronized.
  std::atomic<bool> stopping_ = false;
  ConnectionCounts page_connections_;
  ConnectionCounts probe_connections_;
  PageControl control_;
  LivePage page_;
  Metrics metrics_;

  // Last: their threads use all of the above.
  std::unique_ptr<HttpServer> page_server_;
  std::unique_ptr<HttpServer> probe_server_;
};

}  // namespace millrace::service
