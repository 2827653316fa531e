// What health checks are told: which parts of the server are serving, by name.
//
// It knows no gRPC, HTTP or cameras. Whoever judges a part sets its status here; who answers health
// checks reads it, and is called when something changes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace millrace::service {

/// Statuses by name; "" is the server as a whole. Thread-safe.
class HealthStatuses {
 public:
  /// Whether each is serving.
  using ByName = std::map<std::string, bool, std::less<>>;

  HealthStatuses() = default;
  HealthStatuses(const HealthStatuses&) = delete;
  HealthStatuses& operator=(const HealthStatuses&) = delete;

  /// Says whether `name` is serving. After Drain() it is not, whatever is said.
  void Set(std::string_view name, bool serving) ABSL_LOCKS_EXCLUDED(mu_);
  /// Nothing is serving any more, for good. Idempotent.
  void Drain() ABSL_LOCKS_EXCLUDED(mu_);

  /// Whether `name` is serving; nullopt if there is no such name.
  [[nodiscard]] std::optional<bool> Find(std::string_view name) const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] ByName All() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Calls `listener` after each change, without a lock held, on the thread that made the change:
  /// it must not block. It must live as long as anything changes here.
  void Listen(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void CallListeners() const ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  ByName statuses_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> listeners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
