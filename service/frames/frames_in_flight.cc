#include "service/frames/frames_in_flight.h"

#include <utility>

#include "base/check.h"

namespace millrace::service {

void FramesInFlight::StartAt(std::int64_t sample) {
  MutexLock lock(mu_);
  MILLRACE_CHECK(frames_.empty());
  next_ = sample;
}

std::int64_t FramesInFlight::Add(FrameInFlight frame) {
  MutexLock lock(mu_);
  frames_.push_back(std::move(frame));
  return next_++;
}

void FramesInFlight::TakeBack() {
  MutexLock lock(mu_);
  MILLRACE_CHECK(!frames_.empty());
  frames_.pop_back();
  --next_;
}

std::optional<FrameInFlight> FramesInFlight::Take(std::int64_t sample) {
  MutexLock lock(mu_);
  MILLRACE_CHECK(sample < next_);
  if (frames_.empty()) return std::nullopt;
  MILLRACE_CHECK(sample == next_ - static_cast<std::int64_t>(frames_.size()));
  FrameInFlight frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

std::size_t FramesInFlight::size() const {
  MutexLock lock(mu_);
  return frames_.size();
}

std::deque<FrameInFlight> FramesInFlight::Clear() {
  MutexLock lock(mu_);
  return std::exchange(frames_, {});
}

}  // namespace millrace::service
