#include "ingest/frame/rate_limit.h"

#include <algorithm>

namespace millrace::ingest {

using std::chrono::nanoseconds;

nanoseconds FrameInterval(double frames_per_second) {
  constexpr std::chrono::duration<double> kMaxInterval = std::chrono::hours(24);
  const std::chrono::duration<double> interval(1 / frames_per_second);
  return std::chrono::duration_cast<nanoseconds>(std::min(interval, kMaxInterval));
}

RateLimit::RateLimit(double frames_per_second)
    : interval_(frames_per_second > 0 ? FrameInterval(frames_per_second) : nanoseconds(0)) {}

bool RateLimit::Passes(nanoseconds stream_time) {
  if (interval_ == nanoseconds(0)) return true;
  // The base may be a frame a fifth late, and this frame may be a fifth early.
  const nanoseconds slack = interval_ * 2 / 5;
  if (due_ && stream_time + slack < *due_ && stream_time >= *due_ - interval_ - slack) return false;
  // After a pause or a jump back in time, the schedule starts again from this frame.
  const bool on_time = due_ && stream_time - *due_ < interval_ && stream_time + slack >= *due_;
  due_ = (on_time ? *due_ : stream_time) + interval_;
  return true;
}

// The generic cell rate algorithm (ITU-T I.371).
ArrivalLimit::ArrivalLimit(double frames_per_second)
    : interval_(frames_per_second > 0 ? FrameInterval(1.25 * frames_per_second) : nanoseconds(0)),
      at_once_(std::max<nanoseconds>(std::chrono::seconds(2), interval_)) {}

bool ArrivalLimit::Passes(nanoseconds arrival) {
  if (interval_ == nanoseconds(0)) return true;
  if (due_ && arrival + at_once_ < *due_) return false;
  due_ = std::max(due_.value_or(arrival), arrival) + interval_;
  return true;
}

}  // namespace millrace::ingest
