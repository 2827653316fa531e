// Counts who watches the live page, so that a link passed around does not take the machine's time
// from the learner.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace millrace::service {

/// Viewers, each under an id that its page made up: who has asked within the last four seconds is
/// watching. Thread-safe.
class LivePageViewers {
 public:
  static constexpr std::chrono::seconds kPatience{4};

  /// `clock` must outlive this. REQUIRES: limit >= 0.
  LivePageViewers(std::size_t limit, const Clock& clock) : limit_(limit), clock_(clock) {}

  /// Notes that viewer `id` asks now. Returns false, noting nothing, if it is new and there is no
  /// room.
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
