#include "ingest/rate_limit.h"

#include <algorithm>

namespace millrace::ingest {

using std::chrono::nanoseconds;

RateLimit::RateLimit(double frames_per_second)
    : interval_(frames_per_second > 0 ? std::chrono::duration_cast<nanoseconds>(
                                            std::chrono::duration<double>(1 / frames_per_second))
                                      : nanoseconds(0)) {}

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
