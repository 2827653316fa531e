// A fair mutex per name. Changes of one stream run one after another, and do not wait for other
// streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace millrace::service {

/// Each name has one holder at a time. Callers get it in the order of their calls. Thread-safe.
/// Must outlive the claims.
class Claims {
 public:
  /// Holds a name until destruction.
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

  using Observer = std::function<void(const std::string& name)>;

  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  /// The holder of a name calls `on_taken` first and `on_released` last. Both may be empty.
  explicit Claims(Observer on_taken = {}, Observer on_released = {})
      : on_taken_(std::move(on_taken)), on_released_(std::move(on_released)) {}
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Waits until this call holds `name`. Fails with CANCELLED once `stop` is requested. Fails at
  /// once with UNAVAILABLE (TOO_MANY_CHANGES) if `max_waiting` calls already wait for the name.
  [[nodiscard]] absl::StatusOr<Claim> Take(const std::string& name, const std::stop_token& stop,
                                           std::size_t max_waiting = kNoLimit)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Ticket = std::uint64_t;

  void Release(const std::string& name) ABSL_LOCKS_EXCLUDED(mu_);
  void Leave(const std::string& name, Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Observer on_taken_;
  const Observer on_released_;

  Mutex mu_;
  CondVar changed_;
  Ticket next_ ABSL_GUARDED_BY(mu_) = 0;
  /// For each name: the holder's ticket, then the tickets of the waiting calls. No queue is empty.
  std::map<std::string, std::deque<Ticket>> queues_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
