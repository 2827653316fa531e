#include "ingest/rate_limit.h"

#include <algorithm>

namespace millrace::ingest {

using std::chrono::nanoseconds;

namespace {

// Of a rate of nearly 0, which would not fit into nanoseconds.
constexpr std::chrono::duration<double> kLongestInterval = std::chrono::hours(24);

nanoseconds IntervalOf(double frames_per_second) {
  if (frames_per_second <= 0) return nanoseconds(0);
  const std::chrono::duration<double> interval(1 / frames_per_second);
  return std::chrono::duration_cast<nanoseconds>(std::min(interval, kLongestInterval));
}

}  // namespace

RateLimit::RateLimit(double frames_per_second) : interval_(IntervalOf(frames_per_second)) {}

bool RateLimit::Passes(nanoseconds stream_time) {
  if (interval_ == nanoseconds(0)) return true;
  const nanoseconds slack = interval_ / 5;
  if (due_ && stream_time + slack <= *due_ && stream_time >= *due_ - interval_ - slack)
    return false;
  // After a pause, or where time has jumped back, it goes on from here.
  const bool on_time = due_ && stream_time - *due_ < interval_ && stream_time + slack > *due_;
  due_ = (on_time ? *due_ : stream_time) + interval_;
  return true;
}

}  // namespace millrace::ingest
