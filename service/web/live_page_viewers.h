// Counts and limits viewers of the live page, so that a widely shared link does not take time from
// the learner.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace millrace::service {

/// A set of viewers, each under an id that its page generated. A viewer counts for four seconds
/// after its last request. Thread-safe.
class LivePageViewers {
 public:
  static constexpr std::chrono::seconds kPatience{4};

  /// `clock` must outlive this. REQUIRES: limit >= 0.
  LivePageViewers(std::size_t limit, const Clock& clock) : limit_(limit), clock_(clock) {}

  /// Records a request of viewer `id`. Returns false and records nothing if the viewer is new and
  /// the limit is reached.
  [[nodiscard]] bool Admit(std::string_view id) ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] std::size_t count() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::size_t limit() const { return limit_; }

 private:
  void ForgetGone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::size_t limit_;
  const Clock& clock_;

  mutable Mutex mu_;
  mutable std::map<std::string, std::chrono::nanoseconds, std::less<>> last_asked_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
