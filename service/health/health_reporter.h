// Sets the statuses that health checks report.
//
// | name                            | SERVING while                                            |
// | ------------------------------- | -------------------------------------------------------- |
// | ""                              | the process is alive (Liveness), and not draining        |
// | every other service             | the server is up and not draining                        |
// | millrace.v1.PredictionService,  | likewise, and it is ready: its ports accept connections, |
// | inference.GRPCInferenceService  | and at least one model works, or it has no streams       |
//
// No single camera decides: an absent camera is normal, and StreamService reports it.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "service/health/health_statuses.h"
#include "service/health/liveness.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// Checks the streams twice a second on its own thread, until destroyed. Logs why the process is no
/// longer alive, so that the reason for a restart is on record.
class HealthReporter {
 public:
  struct Options {
    /// The services that serve as long as the server does.
    std::vector<std::string> services;
    /// The services that need a working model.
    std::vector<std::string> services_of_models;
  };

  /// Also reports at once. Borrows `statuses`, `streams` and `liveness`, which must outlive it.
  HealthReporter(Options options, HealthStatuses& statuses, const StreamRegistry& streams,
                 Liveness& liveness);
  ~HealthReporter();

  HealthReporter(const HealthReporter&) = delete;
  HealthReporter& operator=(const HealthReporter&) = delete;

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  void Report();
  void ReportLiveness();

  static constexpr std::chrono::milliseconds kEvery{500};

  // Constant after construction.
  const Options options_;
  HealthStatuses& statuses_;
  const StreamRegistry& streams_;
  Liveness& liveness_;

  // Used by the constructor, later only by the thread.
  bool alive_ = true;

  Mutex mu_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
