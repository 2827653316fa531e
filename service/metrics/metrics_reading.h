// What a scrape reads of each camera stream. The families of metrics are made from it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "prometheus/client_metric.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// One stream's values: read once per scrape and used by every family.
struct StreamReading {
  /// ServedStream::run_id: a recreated stream gets a new id and counts from 0 again.
  std::string run_id;
  StreamSnapshot snapshot;
  RunStats stats;
  prometheus::ClientMetric delays;
  std::shared_ptr<const pipeline::LearnerDescription> learner;
  /// Its predictions are compared with a method that does not learn.
  bool compared = false;
  SubscriberCounts subscribers;
  std::vector<pipeline::GpuMemory> gpu_memory = {};
};
using StreamReadings = std::vector<StreamReading>;

[[nodiscard]] StreamReadings ReadStreams(const StreamRegistry& streams);

}  // namespace millrace::service
