// One client's Watch of a service's health: its status at once, then each change.
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

/// What a client is told of `name`: SERVICE_UNKNOWN where there is no such name.
[[nodiscard]] grpc::health::v1::HealthCheckResponse::ServingStatus ServingStatusOf(
    const HealthStatuses& statuses, std::string_view name);

// Only the thread that leaves kIdle may start the next operation, so there is never more than one.
// A status that changes twice during a write is told once: what counts is how it is.
//
//            status differs from the one told
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
    /// Once it is true, the call ends as soon as the client knows the last status.
    const std::atomic<bool>& ending;
    std::function<void(HealthWatch&)> done;
  };

  /// Borrows `statuses` for its life. Pump() must follow.
  HealthWatch(const HealthStatuses& statuses, Options options);

  /// Writes the status if the client has not been told it and no write is under way.
  void Pump() ABSL_LOCKS_EXCLUDED(mu_);

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone() override;

 private:
  enum class State { kIdle, kWriting, kFinishing };

  /// Leaves kIdle, if there is a reason to, and returns for what.
  [[nodiscard]] State LeaveIdle() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const HealthStatuses& statuses_;
  const Options options_;

  // Of whoever is in kWriting; gRPC reads them until the write is done.
  grpc::ByteBuffer response_;

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kIdle;
  std::optional<grpc::health::v1::HealthCheckResponse::ServingStatus> told_ ABSL_GUARDED_BY(mu_);
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
