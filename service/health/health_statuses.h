// The health of the server's parts by name, for health checks.
//
// It is independent of gRPC, HTTP and cameras. The component that checks a part sets its status
// here. The health services read it, and are notified of changes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace millrace::service {

/// Statuses by name; "" is the whole server. Thread-safe.
class HealthStatuses {
 public:
  /// Whether each part is serving.
  using ByName = std::map<std::string, bool, std::less<>>;

  HealthStatuses() = default;
  HealthStatuses(const HealthStatuses&) = delete;
  HealthStatuses& operator=(const HealthStatuses&) = delete;

  /// Sets whether `name` is serving. After Drain() it is never serving.
  void Set(std::string_view name, bool serving) ABSL_LOCKS_EXCLUDED(mu_);
  /// Sets every status to not serving, permanently. Idempotent.
  void Drain() ABSL_LOCKS_EXCLUDED(mu_);

  /// Whether `name` is serving; nullopt for an unknown name.
  [[nodiscard]] std::optional<bool> Find(std::string_view name) const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] ByName All() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Calls `listener` after each change, without a lock, on the thread that made the change.
  /// `listener` must not block. It must stay valid as long as statuses may change.
  void Listen(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void CallListeners() const ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  ByName statuses_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> listeners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
