#include "service/web/http_probes.h"

#include <utility>

#include "service/health/readiness.h"

namespace millrace::service {
namespace {

std::vector<StreamSnapshot> Snapshots(const StreamRegistry& streams) {
  std::vector<StreamSnapshot> snapshots;
  for (const SharedStream& served : streams.All()) snapshots.push_back(served->stream->Snapshot());
  return snapshots;
}

}  // namespace

std::vector<HttpRoute> ProbeRoutes(const Metrics& metrics, const StreamRegistry& streams,
                                   Liveness& liveness, const std::atomic<bool>& stopping) {
  return {
      {"/metrics",
       [&metrics](const HttpRequest&) {
         return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                             .body = metrics.Text()};
       }},
      {.pattern = "/startupz",
       .handler = [](const HttpRequest&) { return HttpResponse{.body = "started\n"}; },
       .probe = true},
      {.pattern = "/healthz",
       .handler =
           [&liveness](const HttpRequest&) {
             Liveness::Verdict verdict = liveness.Judge();
             return HttpResponse{.status = verdict.alive ? 200 : 503,
                                 .body = std::move(verdict.text)};
           },
       .probe = true},
      {.pattern = "/readyz",
       .handler =
           [&streams, &stopping, &liveness](const HttpRequest&) {
             Readiness readiness =
                 JudgeReadiness(Snapshots(streams), stopping, liveness.unreachable());
             return HttpResponse{.status = readiness.ready ? 200 : 503,
                                 .body = std::move(readiness.text)};
           },
       .probe = true},
  };
}

}  // namespace millrace::service
