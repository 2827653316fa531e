#include "ingest/frame/frame_rhythm.h"

#include <algorithm>

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kIntervals = 8;

}  // namespace

void FrameRhythm::Announce(nanoseconds interval) {
  if (announced_ == interval) return;
  announced_ = interval;
  latest_.clear();
}

void FrameRhythm::Add(nanoseconds interval, bool stalled) {
  latest_.push_back({.interval = interval, .stalled = stalled});
  if (latest_.size() > kIntervals) latest_.pop_front();
}

void FrameRhythm::Restart() {
  announced_.reset();
  latest_.clear();
}

nanoseconds FrameRhythm::Interval() const {
  const bool stalls_often = std::ranges::count_if(latest_, &Measurement::stalled) > 1;
  nanoseconds longest =
      latest_.size() < kIntervals ? announced_.value_or(unknown_) : nanoseconds(0);
  for (const Measurement& one : latest_) {
    if (stalls_often || !one.stalled) longest = std::max(longest, one.interval);
  }
  return std::min(longest, std::max(slowest_, announced_.value_or(nanoseconds(0))));
}

}  // namespace millrace::ingest
