// `grpc.health.v1.Health`: tells load balancers, orchestrators and clients which services are
// serving.
//
// It replaces gRPC's own health service, which lacks List in Debian's version.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "service/api/health_watch.h"
#include "service/health/health_statuses.h"
#include "service/rpc/guard.h"

namespace millrace::service {

using HealthMethods = RawMethods<grpc::health::v1::Health::Service,
                                 grpc::health::v1::Health::WithRawCallbackMethod_Check,
                                 grpc::health::v1::Health::WithRawCallbackMethod_List,
                                 grpc::health::v1::Health::WithRawCallbackMethod_Watch>;

/// Translates requests into reads of HealthStatuses, and owns the watches that gRPC still uses.
/// Thread-safe. The destructor waits until gRPC has released every watch, so the server must be
/// shut down first.
class HealthService final : public HealthMethods {
 public:
  /// The most services in a List response, by the interface's own rule, and the most watches at
  /// once.
  static constexpr std::size_t kMaxListed = 100;
  static constexpr std::size_t kMaxWatches = 1000;

  /// Borrows `statuses` and listens to it. `statuses` may change only while this service lives.
  explicit HealthService(HealthStatuses& statuses);
  ~HealthService() override;

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;

  Guard::ServerStreamReactor* Watch(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request) override;

  /// Ends every watch once its client has the last status, so that watches do not delay a shutdown.
  /// Idempotent.
  void EndWatches() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Shared = std::shared_ptr<HealthWatch>;  // Shared with a Pump() in progress.

  /// Adds `watch`. Returns false if there are already kMaxWatches.
  [[nodiscard]] bool Add(const Shared& watch) ABSL_LOCKS_EXCLUDED(mu_);
  void PumpAll() ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(HealthWatch& watch) ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] absl::StatusOr<grpc::health::v1::HealthCheckResponse> StatusOf(
      const grpc::health::v1::HealthCheckRequest& request) const;
  [[nodiscard]] absl::StatusOr<grpc::health::v1::HealthListResponse> All() const;

  // Constant after construction.
  const Guard guard_{grpc::health::v1::Health::service_full_name()};

  // Self-synchronized.
  const HealthStatuses& statuses_;
  std::atomic<bool> ending_ = false;

  Mutex mu_;
  CondVar changed_;
  std::map<HealthWatch*, Shared> watches_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
