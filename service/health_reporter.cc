#include "service/health_reporter.h"

#include <utility>

#include "service/readiness.h"

namespace millrace::service {

HealthReporter::HealthReporter(Options options, HealthStatuses& statuses, const Streams& streams)
    : options_(std::move(options)), statuses_(statuses), streams_(streams) {
  Report();
  thread_ = std::jthread([this] { Run(); });
}

HealthReporter::~HealthReporter() {
  MutexLock lock(mu_);
  ending_ = true;
  changed_.notify_all();
}

void HealthReporter::Run() {
  while (true) {
    {
      MutexLock lock(mu_);
      if (!ending_) changed_.wait_for(mu_, kEvery);
      if (ending_) return;
    }
    Report();
  }
}

void HealthReporter::Report() const {
  std::vector<StreamSnapshot> snapshots;
  for (const SharedStream& served : streams_.All()) {
    snapshots.push_back(served->stream->Snapshot());
  }
  const bool ready = JudgeReadiness(snapshots, /*stopping=*/false).ready;
  statuses_.Set("", true);
  for (const std::string& name : options_.services) statuses_.Set(name, true);
  for (const std::string& name : options_.services_of_models) statuses_.Set(name, ready);
}

}  // namespace millrace::service
