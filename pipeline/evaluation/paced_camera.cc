#include "pipeline/evaluation/paced_camera.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::pipeline {

PacedCamera::PacedCamera(std::int64_t pairs, nanoseconds interval, const Clock& clock, Sleep sleep)
    : pairs_(pairs),
      interval_(interval),
      clock_(clock),
      sleep_(std::move(sleep)),
      start_(clock.Now()) {
  MILLRACE_CHECK(pairs >= 0 && interval > nanoseconds(0));
}

std::optional<std::int64_t> PacedCamera::TakeNewest(const std::stop_token& stop) {
  constexpr nanoseconds kMaxSleep = std::chrono::milliseconds(100);  // Then it heeds `stop`.
  while (next_ < pairs_ && !stop.stop_requested()) {
    const nanoseconds now = clock_.Now() - start_;
    const std::int64_t newest = std::min(now / interval_, pairs_ - 1);
    if (newest >= next_) {
      next_ = newest + 1;
      return newest;
    }
    sleep_(std::min(next_ * interval_ - now, kMaxSleep));
  }
  return std::nullopt;
}

}  // namespace millrace::pipeline
