// Both web servers of `millrace serve`: the live page, and what watches the server. They are plain
// text and ask nobody who they are, so they listen at Listen::web_address().
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

/// Serves until destroyed. For one thread. What it is given must outlive it.
class ServeWeb {
 public:
  struct Options {
    Listen listen = {};
    const Streams* streams = nullptr;
    Liveness* liveness = nullptr;
    /// As in Metrics::Options.
    const CallCounts* calls = nullptr;
    /// Of the gRPC port; null: there is none.
    const ConnectionCounts* grpc_connections = nullptr;
    ConnectionLimits page_limits = {};
    ConnectionLimits probe_limits = {};
    /// As in Metrics::Options.
    std::function<ConfigStanding()> configuration = {};
    std::function<std::optional<nanoseconds>()> certificate_expiry = {};
    const Clock* clock = &MonotonicClock();
  };

  /// Fails with UNAVAILABLE where a port cannot be had, and as Admission::Make() does.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ServeWeb>> Start(Options options);

  ServeWeb(const ServeWeb&) = delete;
  ServeWeb& operator=(const ServeWeb&) = delete;

  /// From now on /readyz says 503 and the page says that the server stops. Idempotent.
  void AnnounceStop() { stopping_ = true; }
  /// Announces the stop, begins to stop both servers and returns at once: a page that is open still
  /// gets the answers under way. The destructor waits for the end. Idempotent.
  void BeginStop();

  /// Where both listen.
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
