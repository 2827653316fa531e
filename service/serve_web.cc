#include "service/serve_web.h"

#include <utility>

#include "base/status.h"
#include "service/http_probes.h"

namespace millrace::service {

absl::StatusOr<std::unique_ptr<ServeWeb>> ServeWeb::Start(Options options) {
  std::unique_ptr<ServeWeb> web(new ServeWeb(std::move(options)));
  const Listen& listen = web->options_.listen;
  MILLRACE_ASSIGN_OR_RETURN(
      web->page_server_,
      HttpServer::Start({.address = listen.address,
                         .port = listen.http_port,
                         // A browser may open six connections at a time; they are short.
                         .threads = 12,
                         .port_key = "listen.http_port",
                         .routes = web->page_.Routes()}));
  MILLRACE_ASSIGN_OR_RETURN(
      web->probe_server_,
      HttpServer::Start(
          {.address = listen.address,
           .port = listen.metrics_port,
           .threads = 3,
           .port_key = "listen.metrics_port",
           .routes = ProbeRoutes(web->metrics_, *web->options_.streams, web->stopping_)}));
  return web;
}

ServeWeb::ServeWeb(Options options)
    : options_(std::move(options)),
      page_({.streams = options_.streams,
             .max_viewers = static_cast<std::size_t>(options_.listen.max_viewers),
             .clock = options_.clock,
             .stopping = &stopping_}),
      metrics_(
          {.streams = options_.streams, .viewers = [this] { return page_.viewers().count(); }}) {}

void ServeWeb::BeginStop() {
  AnnounceStop();
  if (page_server_ != nullptr) page_server_->BeginStop();
  if (probe_server_ != nullptr) probe_server_->BeginStop();
}

}  // namespace millrace::service
