#include "service/web/serve_web.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/status.h"
#include "service/access/grpc_security.h"
#include "service/web/debug_trace.h"
#include "service/web/http_probes.h"
#include "service/web/page_host.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

absl::StatusOr<std::unique_ptr<ServeWeb>> ServeWeb::Start(Options options) {
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Admission> admission,
                            Admission::Make(options.listen.security));
  std::unique_ptr<ServeWeb> web(new ServeWeb(std::move(options), std::move(admission)));
  const Listen& listen = web->options_.listen;
  const std::string address = listen.web_address();
  if (address != listen.address) {
    spdlog::info(
        "the live page, the metrics and the probes are plain text, so they listen on {} only, and "
        "not on {}: listen.allow_plain_text says otherwise",
        address, listen.address);
  }
  std::vector<HttpRoute> routes = web->page_.Routes();
  std::ranges::move(web->control_.Routes(), std::back_inserter(routes));
  if (IsLoopback(address)) routes = UnderTrustedNames(std::move(routes));
  MILLRACE_ASSIGN_OR_RETURN(web->page_server_,
                            HttpServer::Start({.address = address,
                                               .port = listen.http_port,
                                               .connections = web->options_.page_limits,
                                               .counts = &web->page_connections_,
                                               .port_key = "listen.http_port",
                                               .routes = std::move(routes)}));
  std::vector<HttpRoute> probes =
      ProbeRoutes(web->metrics_, *web->options_.streams, *web->options_.liveness, web->stopping_);
  std::ranges::move(
      UnderTrustedNames({DebugTraceRoute(*web->options_.streams, *web->options_.clock)}),
      std::back_inserter(probes));
  MILLRACE_ASSIGN_OR_RETURN(web->probe_server_,
                            HttpServer::Start({.address = address,
                                               .port = listen.metrics_port,
                                               .threads = 2,
                                               .connections = web->options_.probe_limits,
                                               .counts = &web->probe_connections_,
                                               .port_key = "listen.metrics_port",
                                               .routes = std::move(probes)}));
  return web;
}

ServeWeb::ServeWeb(Options options, std::unique_ptr<Admission> admission)
    : options_(std::move(options)),
      admission_(std::move(admission)),
      control_(*options_.streams, *admission_, options_.listen.security),
      page_({.streams = options_.streams,
             .max_viewers = static_cast<std::size_t>(options_.listen.max_viewers),
             .clock = options_.clock,
             .stopping = &stopping_,
             .control = &control_}),
      metrics_({.streams = options_.streams,
                .calls = options_.calls,
                .viewers = [this] { return page_.viewers().count(); },
                .connections = Connections(),
                .configuration = options_.configuration,
                .certificate_expiry = options_.certificate_expiry}) {}

std::vector<SelfDial::Port> ServeWeb::ports() const {
  const std::string address = options_.listen.web_address();
  return {{.name = "the live page", .address = address, .number = page_server_->port()},
          {.name = "the probes", .address = address, .number = probe_server_->port()}};
}

std::map<std::string, const ConnectionCounts*> ServeWeb::Connections() const {
  std::map<std::string, const ConnectionCounts*> counts = {{"http_port", &page_connections_},
                                                           {"metrics_port", &probe_connections_}};
  if (options_.grpc_connections != nullptr) counts["grpc_port"] = options_.grpc_connections;
  return counts;
}

void ServeWeb::BeginStop() {
  AnnounceStop();
  if (page_server_ != nullptr) page_server_->BeginStop();
  if (probe_server_ != nullptr) probe_server_->BeginStop();
}

}  // namespace millrace::service
