// One client's Watch of a service's health: the status at once, then each change.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "grpc/health/v1/health.pb.h"
#include "service/health/health_statuses.h"

namespace millrace::service {

/// The status of `name` for a client; SERVICE_UNKNOWN for an unknown name.
[[nodiscard]] grpc::health::v1::HealthCheckResponse::ServingStatus ServingStatusOf(
    const HealthStatuses& statuses, std::string_view name);

// Only the thread that leaves kIdle may start the next operation, so at most one is outstanding. If
// a status changes twice during a write, only its last value is sent.
//
//            status differs from the one sent
//   kIdle ───────────────────────────────────▶ kWriting
//     │  ▲                                      │    │
//     │  └───────────── written ────────────────┘    │ written, and cancelled
//     │ cancelled, or ending                         ▼
//     └─────────────────────────────────────────▶ kFinishing
//
/// Thread-safe. Lives until gRPC has called OnDone(), which calls `done`, and no Pump() is in
/// progress.
class HealthWatch final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  struct Options {
    std::string name;
    /// Once true, the call ends as soon as the client has the last status.
    const std::atomic<bool>& ending;
    std::function<void(HealthWatch&)> done;
  };

  /// Borrows `statuses`, which must outlive it. Call Pump() next.
  HealthWatch(const HealthStatuses& statuses, Options options);

  /// Writes the status if the client does not have it yet and no write is under way.
  void Pump() ABSL_LOCKS_EXCLUDED(mu_);

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone() override;

 private:
  enum class State { kIdle, kWriting, kFinishing };

  /// Leaves kIdle if there is a reason. Returns the new state.
  [[nodiscard]] State LeaveIdle() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const HealthStatuses& statuses_;
  const Options options_;

  // Owned by the thread in kWriting. gRPC reads it until the write is done.
  grpc::ByteBuffer response_;

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kIdle;
  std::optional<grpc::health::v1::HealthCheckResponse::ServingStatus> told_ ABSL_GUARDED_BY(mu_);
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
