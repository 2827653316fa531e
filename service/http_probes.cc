#include "service/http_probes.h"

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

/// Why the stream cannot learn any more; empty while it can.
std::string WhyNot(const StreamSnapshot& stream) {
  if (!stream.learner.ok()) {
    return absl::StrCat("the learner failed: ", std::string(stream.learner.message()));
  }
  switch (stream.source.state) {
    case ingest::SourceState::kConnecting:
    case ingest::SourceState::kStreaming:
    case ingest::SourceState::kStalled:
    case ingest::SourceState::kBackingOff:
      return "";
    case ingest::SourceState::kEnded:
      return "the source has ended";
    case ingest::SourceState::kFailed:
      return absl::StrCat("the source failed: ", std::string(stream.source.cause.message()));
    case ingest::SourceState::kStopped:
      return "the stream was stopped";
  }
  return "the source is in an unknown state";
}

}  // namespace

Readiness JudgeReadiness(const std::vector<StreamSnapshot>& streams, bool stopping) {
  Readiness readiness = {.ready = !stopping, .text = stopping ? "server: stopping\n" : ""};
  for (const StreamSnapshot& stream : streams) {
    if (const std::string why = WhyNot(stream); !why.empty()) {
      readiness.ready = false;
      absl::StrAppend(&readiness.text, stream.name, ": ", why, "\n");
    } else if (stream.source.state != ingest::SourceState::kStreaming) {
      absl::StrAppend(&readiness.text, stream.name, ": the camera is away, ",
                      std::string(ingest::Name(stream.source.state)));
      if (!stream.source.cause.ok()) {
        absl::StrAppend(&readiness.text, ": ", std::string(stream.source.cause.message()));
      }
      readiness.text += '\n';
    }
  }
  if (readiness.ready) readiness.text = absl::StrCat("ready\n", readiness.text);
  return readiness;
}

std::vector<HttpRoute> ProbeRoutes(const Metrics& metrics, const Streams& streams,
                                   const std::atomic<bool>& stopping) {
  return {
      {"/metrics",
       [&metrics](const HttpRequest&) {
         return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                             .body = metrics.Text()};
       }},
      {"/healthz", [](const HttpRequest&) { return HttpResponse{.body = "ok\n"}; }},
      {"/readyz",
       [&streams, &stopping](const HttpRequest&) {
         std::vector<StreamSnapshot> snapshots;
         for (const SharedStream& served : streams.All()) {
           snapshots.push_back(served->stream->Snapshot());
         }
         Readiness readiness = JudgeReadiness(snapshots, stopping);
         return HttpResponse{.status = readiness.ready ? 200 : 503,
                             .body = std::move(readiness.text)};
       }},
  };
}

}  // namespace millrace::service
