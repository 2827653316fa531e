// Keeps grpc.health.v1 truthful.
//
// | service                         | SERVING while                                            |
// | ------------------------------- | -------------------------------------------------------- |
// | "" and millrace.v1.StreamService | the server is up and not draining                       |
// | millrace.v1.PredictionService   | so, and at least one stream learns: its learner has not  |
// |                                 | failed, and it has not ended                             |
//
// No single camera decides: one that is away is an ordinary day, and StreamService tells of it.
#pragma once

#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <thread>

#include "base/mutex.h"
#include "service/streams.h"

namespace millrace::service {

/// Looks at the streams twice a second, from a thread of its own. Thread-safe. Borrows both for its
/// life.
class HealthReporter {
 public:
  HealthReporter(grpc::HealthCheckServiceInterface& health, const Streams& streams);
  ~HealthReporter();

  HealthReporter(const HealthReporter&) = delete;
  HealthReporter& operator=(const HealthReporter&) = delete;

  /// Says NOT_SERVING of everything from now on. Idempotent.
  void Drain() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  void Report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  static constexpr std::chrono::milliseconds kEvery{500};

  // Constant after construction.
  const Streams& streams_;

  Mutex mu_;
  CondVar changed_;
  grpc::HealthCheckServiceInterface& health_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
