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
  seen_.clear();
}

void FrameRhythm::Add(nanoseconds interval, bool stalled) {
  seen_.push_back({.interval = interval, .stalled = stalled});
  if (seen_.size() > kIntervals) seen_.pop_front();
}

void FrameRhythm::Restart() {
  announced_.reset();
  seen_.clear();
}

nanoseconds FrameRhythm::Interval() const {
  const bool stalls_often = std::ranges::count_if(seen_, &Seen::stalled) > 1;
  nanoseconds longest = seen_.size() < kIntervals ? announced_.value_or(unknown_) : nanoseconds(0);
  for (const Seen& seen : seen_) {
    if (stalls_often || !seen.stalled) longest = std::max(longest, seen.interval);
  }
  return std::min(longest, std::max(slowest_, announced_.value_or(nanoseconds(0))));
}

}  // namespace millrace::ingest
