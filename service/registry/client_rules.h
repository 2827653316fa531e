// The current rules for streams that clients add. A reload of the configuration may change them.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "service/config/config.h"

namespace millrace::service {

/// Holds the current rules. Thread-safe.
class ClientRules {
 public:
  struct Rules {
    /// The values of keys that a client's entry leaves out.
    StreamConfig defaults = {};
    ClientSources sources = {};
  };

  ClientRules() = default;
  explicit ClientRules(Rules rules) { Set(std::move(rules)); }

  ClientRules(const ClientRules&) = delete;
  ClientRules& operator=(const ClientRules&) = delete;

  /// A shared snapshot, so that one call uses one set of rules even if Set() runs meanwhile.
  [[nodiscard]] std::shared_ptr<const Rules> Now() const ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return rules_;
  }
  void Set(Rules rules) ABSL_LOCKS_EXCLUDED(mu_) {
    auto next = std::make_shared<const Rules>(std::move(rules));
    const MutexLock lock(mu_);
    rules_ = std::move(next);
  }

 private:
  mutable Mutex mu_;
  std::shared_ptr<const Rules> rules_ ABSL_GUARDED_BY(mu_) = std::make_shared<const Rules>();
};

}  // namespace millrace::service
