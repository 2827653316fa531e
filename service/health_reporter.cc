#include "service/health_reporter.h"

#include <algorithm>

#include "millrace/v1/prediction_service.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"

namespace millrace::service {
namespace {

bool Learns(const CameraStream& stream) {
  return !stream.ended() && stream.Snapshot().learner.ok();
}

}  // namespace

HealthReporter::HealthReporter(grpc::HealthCheckServiceInterface& health, const Streams& streams)
    : streams_(streams), health_(health) {
  MutexLock lock(mu_);
  Report();
  thread_ = std::jthread([this] { Run(); });
}

HealthReporter::~HealthReporter() { Drain(); }

void HealthReporter::Drain() {
  MutexLock lock(mu_);
  draining_ = true;
  Report();
  changed_.notify_all();
}

void HealthReporter::Run() {
  MutexLock lock(mu_);
  while (!draining_) {
    changed_.wait_for(mu_, kEvery);
    Report();
  }
}

// Called with the lock held, so that no report made before Drain() comes after its own. gRPC's
// health service only notes the status and wakes its watchers.
void HealthReporter::Report() {
  const std::vector<SharedStream> streams = streams_.All();
  const bool learning =
      std::any_of(streams.begin(), streams.end(), [](const auto& s) { return Learns(*s->stream); });
  health_.SetServingStatus("", !draining_);
  health_.SetServingStatus(v1::StreamService::service_full_name(), !draining_);
  health_.SetServingStatus(v1::PredictionService::service_full_name(), !draining_ && learning);
}

}  // namespace millrace::service
