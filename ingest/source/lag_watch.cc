#include "ingest/source/lag_watch.h"

#include <algorithm>
#include <utility>

namespace millrace::ingest {

using std::chrono::nanoseconds;

namespace {

constexpr int kTooSlow = 3;  // Consecutive slow windows.
constexpr int kShare = 10;   // A slow window loses 1/kShare of its time.
constexpr std::chrono::minutes kAgain(15);

double PerSecond(std::int64_t pictures, nanoseconds time) {
  return static_cast<double>(pictures) / std::chrono::duration<double>(time).count();
}

}  // namespace

std::optional<LagWatch::Lag> LagWatch::Take(nanoseconds stream_time, nanoseconds now) {
  const nanoseconds late = now - stream_time;
  if (!begin_) {
    begin_ = {.stream_time = stream_time, .now = now};
    punctual_ = late;
    pictures_ = slow_windows_ = 0;
    return std::nullopt;
  }
  punctual_ = std::min(punctual_, late);
  ++pictures_;
  const nanoseconds passed = now - begin_->now;
  if (passed < window_) return std::nullopt;
  const nanoseconds shown = stream_time - begin_->stream_time;
  const bool slow = shown > nanoseconds(0) && passed - shown >= passed / kShare;
  slow_windows_ = slow ? slow_windows_ + 1 : 0;
  begin_ = {.stream_time = stream_time, .now = now};
  const std::int64_t pictures = std::exchange(pictures_, 0);
  if (slow_windows_ < kTooSlow || (said_ && now - *said_ < kAgain)) return std::nullopt;
  said_ = now;
  return Lag{.behind = late - punctual_,
             .sent = PerSecond(pictures, shown),
             .decoded = PerSecond(pictures, passed)};
}

}  // namespace millrace::ingest
