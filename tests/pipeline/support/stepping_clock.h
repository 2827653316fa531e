// A clock that a test moves.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace millrace::pipeline {

/// Each reading is later than the one before by a step. Thread-safe.
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds Now() const override { return nanoseconds(now_ += step_ns_); }
  void set_step(nanoseconds step) { step_ns_ = step.count(); }

 private:
  std::atomic<std::int64_t> step_ns_ = 1;
  mutable std::atomic<std::int64_t> now_ = 0;
};

}  // namespace millrace::pipeline
