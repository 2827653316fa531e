#include "service/metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "ingest/source/abandoned_pipelines.h"
#include "prometheus/text_serializer.h"
#include "service/metrics/log_counts.h"
#include "service/metrics/metrics_family.h"
#include "service/metrics/metrics_process.h"
#include "service/metrics/metrics_reading.h"
#include "service/metrics/metrics_stream.h"

namespace millrace::service {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

void Append(std::vector<MetricFamily> more, std::vector<MetricFamily>& families) {
  std::ranges::move(more, std::back_inserter(families));
}

MetricFamily Gauge(std::string name, std::string help, double value) {
  return MetricBuilder(std::move(name), std::move(help), MetricType::Gauge).Add({}, value).Take();
}

MetricFamily BuildFamily() {
  MetricBuilder family("millrace_build_info",
                       "The version that runs, and whether it was built with kernels for CUDA; "
                       "always 1.",
                       MetricType::Gauge);
  return family.Add({{"version", MILLRACE_VERSION}, {"cuda", MILLRACE_CUDA}}, 1).Take();
}

MetricFamily UnaccountedFamily(const StreamReadings& readings) {
  double frames = 0;
  for (const StreamReading& reading : readings) {
    const FrameCounts& counts = reading.snapshot.frames;
    frames += std::abs(
        static_cast<double>(counts.received) -
        static_cast<double>(counts.predicted + counts.dropped_in_all() + counts.in_flight));
    frames += static_cast<double>(counts.lost);
  }
  return Gauge(
      "millrace_service_frames_unaccounted",
      "Frames of all streams that were received and are neither predicted nor dropped, nor "
      "anywhere in a queue or in the pipeline. Anything but 0 is a bug.",
      frames);
}

MetricFamily SubscribersFamily(const StreamReadings& readings) {
  double subscribers = 0;
  for (const StreamReading& reading : readings) {
    subscribers += static_cast<double>(reading.subscribers.active);
  }
  return Gauge("millrace_service_subscribers", "gRPC subscribers now.", subscribers);
}

// Has every method with every code, so that the first failure is a rise from 0.
MetricFamily CallsFamily(const CallCounts& calls) {
  MetricBuilder family("millrace_service_calls_total",
                       "Calls of the gRPC API that have ended, by method and status code. "
                       "Health checks and reflection are not counted.",
                       MetricType::Counter);
  for (const CallCounts::Method& method : calls.Read()) {
    for (std::size_t code = 0; code < CallCounts::kCodes; ++code) {
      family.Add({{"method", method.name},
                  {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}},
                 static_cast<double>(method.calls[code]));
    }
  }
  return family.Take();
}

MetricFamily CallDurationFamily(const CallCounts& calls) {
  MetricBuilder family("millrace_service_call_duration_seconds",
                       "From the arrival of a call of the gRPC API that has one answer to that, "
                       "over all methods. CreateCheckpoint waits for weights that prove good, and "
                       "a change of a stream for its network to load.",
                       MetricType::Histogram);
  return family.Add({}, calls.Durations()).Take();
}

void AppendConnections(const std::map<std::string, const ConnectionCounts*>& connections,
                       std::vector<MetricFamily>& families) {
  if (connections.empty()) return;
  MetricBuilder open("millrace_service_connections", "Connections now, by port.",
                     MetricType::Gauge);
  MetricBuilder turned_away("millrace_service_connections_turned_away_total",
                            "Connections that were refused, or closed while they only waited, "
                            "because there were as many as there may be.",
                            MetricType::Counter);
  for (const auto& [port, counts] : connections) {
    open.Add({{"port", port}}, static_cast<double>(counts->open));
    turned_away.Add({{"port", port}}, static_cast<double>(counts->turned_away));
  }
  families.push_back(open.Take());
  families.push_back(turned_away.Take());
}

// Streams on one GPU share it and report the same value, so each GPU has one sample.
MetricFamily GpuMemoryFamily(const StreamReadings& readings) {
  MetricBuilder family("millrace_pipeline_gpu_memory_bytes",
                       "Memory of each GPU that this process computes on. allocated: in its "
                       "tensors. reserved: that and its store for the next ones. free: taken by "
                       "no process. total: the whole memory. Absent on the CPU.",
                       MetricType::Gauge);
  std::map<std::string, pipeline::GpuMemory> gpus;
  for (const StreamReading& reading : readings) {
    for (const pipeline::GpuMemory& gpu : reading.gpu_memory) gpus[gpu.device] = gpu;
  }
  for (const auto& [device, gpu] : gpus) {
    family.Add({{"device", device}, {"kind", "allocated"}}, gpu.allocated_bytes);
    family.Add({{"device", device}, {"kind", "reserved"}}, gpu.reserved_bytes);
    family.Add({{"device", device}, {"kind", "free"}}, gpu.free_bytes);
    family.Add({{"device", device}, {"kind", "total"}}, gpu.total_bytes);
  }
  return family.Take();
}

void AppendConfiguration(const ConfigStanding& standing, std::vector<MetricFamily>& families) {
  families.push_back(Gauge("millrace_service_config_reload_success",
                           "Whether the configuration file was right the last time that it was "
                           "read, and every stream became what it says: 1 or 0. 1 from the start.",
                           standing.holds ? 1 : 0));
  families.push_back(Gauge("millrace_service_config_reload_success_timestamp_seconds",
                           "When that was so last, since 1970.",
                           std::chrono::duration<double>(standing.held_at).count()));
}

void AppendAbandoned(std::vector<MetricFamily>& families) {
  const ingest::AbandonedPipelines pipelines = ingest::CountAbandoned();
  MetricBuilder family("millrace_ingest_pipelines_abandoned_total",
                       "GStreamer pipelines of sources that hung at their end. They were left "
                       "behind, or killed with a process of their own. The log names the stream.",
                       MetricType::Counter);
  families.push_back(family.Add({}, static_cast<double>(pipelines.so_far)).Take());
  families.push_back(Gauge("millrace_ingest_pipelines_hanging",
                           "Those of them that have not ended since: each keeps its threads and "
                           "its memory.",
                           static_cast<double>(pipelines.hanging)));
}

MetricFamily CertificateFamily(const std::optional<nanoseconds>& expiry) {
  MetricBuilder family("millrace_service_certificate_expiry_timestamp_seconds",
                       "When the certificate of the gRPC port expires, since 1970. Absent without "
                       "TLS.",
                       MetricType::Gauge);
  if (expiry) family.Add({}, std::chrono::duration<double>(*expiry).count());
  return family.Take();
}

}  // namespace

Metrics::Metrics(Options options) : options_(std::move(options)) {
  MILLRACE_CHECK(options_.streams != nullptr);
}

std::vector<MetricFamily> Metrics::Collect() const {
  const MutexLock lock(mu_);
  const StreamReadings readings = ReadStreams(*options_.streams);
  std::vector<MetricFamily> families = {BuildFamily()};
  Append(CollectStreamMetrics(readings), families);
  families.push_back(UnaccountedFamily(readings));
  families.push_back(SubscribersFamily(readings));
  if (options_.calls != nullptr) {
    families.push_back(CallsFamily(*options_.calls));
    families.push_back(CallDurationFamily(*options_.calls));
  }
  Append(totals_.Collect(readings), families);
  if (options_.viewers) {
    families.push_back(Gauge("millrace_service_viewers", "Viewers of the live page now.",
                             static_cast<double>(options_.viewers())));
  }
  AppendConnections(options_.connections, families);
  if (options_.configuration) AppendConfiguration(options_.configuration(), families);
  if (options_.certificate_expiry) {
    families.push_back(CertificateFamily(options_.certificate_expiry()));
  }
  AppendAbandoned(families);
  families.push_back(LogMessagesFamily());
  families.push_back(GpuMemoryFamily(readings));
  Append(CollectProcessMetrics(), families);
  return families;
}

std::string Metrics::Text() const { return prometheus::TextSerializer().Serialize(Collect()); }

}  // namespace millrace::service
