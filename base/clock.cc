#include "base/clock.h"

#include "base/check.h"

namespace millrace {
namespace {

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds Now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

}  // namespace

const Clock& MonotonicClock() {
  static const SteadyClock clock;
  return clock;
}

nanoseconds WallTime() { return std::chrono::system_clock::now().time_since_epoch(); }

nanoseconds FakeClock::Now() const {
  MutexLock lock(mu_);
  return now_;
}

void FakeClock::Advance(nanoseconds step) {
  MILLRACE_CHECK(step >= nanoseconds(0));
  MutexLock lock(mu_);
  now_ += step;
}

}  // namespace millrace
