// Keeps what health checks are told truthful.
//
// | name                            | SERVING while                                            |
// | ------------------------------- | -------------------------------------------------------- |
// | ""                              | the process is alive (Liveness), and not draining        |
// | every other service             | the server is up and not draining                        |
// | millrace.v1.PredictionService,  | so, and it is ready: its ports take connections, and not |
// | inference.GRPCInferenceService  | every model has failed                                   |
//
// No single camera decides: one that is away is an ordinary day, and StreamService tells of it.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "service/health/health_statuses.h"
#include "service/health/liveness.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// Looks at the streams twice a second, from a thread of its own, until destroyed. Logs why the
/// process is no longer alive: whoever restarts it then asks why.
class HealthReporter {
 public:
  struct Options {
    /// The services that serve as long as the server does.
    std::vector<std::string> services;
    /// Those that need a model that works.
    std::vector<std::string> services_of_models;
  };

  /// Reports at once, too. Borrows `statuses`, `streams` and `liveness` for its life.
  HealthReporter(Options options, HealthStatuses& statuses, const Streams& streams,
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
  const Streams& streams_;
  Liveness& liveness_;

  // Of the constructor, then of the thread.
  bool alive_ = true;

  Mutex mu_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
