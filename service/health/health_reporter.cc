#include "service/health/health_reporter.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "service/health/readiness.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

HealthReporter::HealthReporter(Options options, HealthStatuses& statuses,
                               const StreamRegistry& streams, Liveness& liveness)
    : options_(std::move(options)), statuses_(statuses), streams_(streams), liveness_(liveness) {
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

void HealthReporter::Report() {
  std::vector<StreamSnapshot> snapshots;
  for (const SharedStream& served : streams_.All()) {
    snapshots.push_back(served->stream->Snapshot());
  }
  const bool ready = JudgeReadiness(snapshots, /*stopping=*/false, liveness_.unreachable()).ready;
  ReportLiveness();
  for (const std::string& name : options_.services) statuses_.Set(name, true);
  for (const std::string& name : options_.services_of_models) statuses_.Set(name, ready);
}

void HealthReporter::ReportLiveness() {
  const Liveness::Verdict verdict = liveness_.Judge();
  statuses_.Set("", verdict.alive);
  if (verdict.alive == std::exchange(alive_, verdict.alive)) return;
  if (verdict.alive) {
    spdlog::info("the process is alive again");
  } else {
    spdlog::error("the process should be started again: {}",
                  std::string(absl::StripTrailingAsciiWhitespace(verdict.text)));
  }
}

}  // namespace millrace::service
