// The monotonic clock, behind an interface so that tests can set the time.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/mutex.h"

namespace millrace {

using std::chrono::nanoseconds;

/// The time since an arbitrary start. It never goes backwards. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual nanoseconds Now() const = 0;
};

/// The machine's monotonic clock. Valid until the program ends.
[[nodiscard]] const Clock& MonotonicClock();

/// The machine's wall clock, as time since 1970-01-01 UTC. For people, never for durations.
[[nodiscard]] nanoseconds WallTime();

/// A clock that only Advance() moves. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(nanoseconds start = nanoseconds(0)) : now_(start) {}

  [[nodiscard]] nanoseconds Now() const override ABSL_LOCKS_EXCLUDED(mu_);
  /// REQUIRES: step >= 0.
  void Advance(nanoseconds step) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  nanoseconds now_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace
