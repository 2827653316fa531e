// Turns by name: what belongs to one stream is done by one at a time, and waits for no other
// stream.
#pragma once

#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace millrace::service {

/// Thread-safe. Must outlive the claims.
class Claims {
 public:
  /// A name that is claimed until this is destroyed.
  class Claim {
   public:
    Claim(Claim&& other) noexcept
        : claims_(std::exchange(other.claims_, nullptr)), name_(std::move(other.name_)) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
      if (claims_ != nullptr) claims_->Release(name_);
    }

   private:
    friend class Claims;
    Claim(Claims& claims, std::string name) : claims_(&claims), name_(std::move(name)) {}

    Claims* claims_;
    std::string name_;
  };

  using Tell = std::function<void(const std::string& name)>;

  /// Called by who has `name`: as the first and as the last that is done. May be empty.
  explicit Claims(Tell taken = {}, Tell released = {})
      : tell_taken_(std::move(taken)), tell_released_(std::move(released)) {}
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Waits until nobody else has `name`. Fails with CANCELLED once `stop` says so.
  [[nodiscard]] absl::StatusOr<Claim> Take(const std::string& name, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Release(const std::string& name) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Tell tell_taken_;
  const Tell tell_released_;

  Mutex mu_;
  CondVar released_;
  std::set<std::string> taken_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
