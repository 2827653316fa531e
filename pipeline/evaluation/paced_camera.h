// A camera whose pairs come by a clock, whether a learner is ready or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "base/clock.h"

namespace millrace::pipeline {

/// Pair n comes n intervals after the construction. Only the newest pair waits. For one thread.
class PacedCamera {
 public:
  using Sleep = std::function<void(nanoseconds)>;

  /// `clock` outlives the camera. `sleep` waits for a time of that clock. REQUIRES: pairs >= 0,
  /// interval > 0.
  PacedCamera(std::int64_t pairs, nanoseconds interval, const Clock& clock, Sleep sleep);

  /// Waits until a pair is there that is newer than all those taken. Returns the number of the
  /// newest pair. nullopt: the last pair was taken, or a stop was requested.
  [[nodiscard]] std::optional<std::int64_t> TakeNewest(const std::stop_token& stop);
  /// When pair 0 came, by the clock. Constant.
  [[nodiscard]] nanoseconds start() const { return start_; }

 private:
  const std::int64_t pairs_;
  const nanoseconds interval_;
  const Clock& clock_;
  const Sleep sleep_;
  const nanoseconds start_;
  std::int64_t next_ = 0;  // The first pair after the last one taken.
};

}  // namespace millrace::pipeline
