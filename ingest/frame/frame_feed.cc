#include "ingest/frame/frame_feed.h"

#include <utility>

namespace millrace::ingest {

using std::chrono::nanoseconds;

FrameFeed::FrameFeed(const Clock& clock, std::size_t capacity, WhenFull when_full,
                     double max_frames_per_second, Times times)
    : clock_(clock),
      queue_(capacity, when_full),
      limit_(max_frames_per_second),
      arrival_limit_(times == Times::kAndOfArrival ? max_frames_per_second : 0) {}

bool FrameFeed::Take(DecodedPicture decoded) {
  std::optional<Frame> frame = Stamp(std::move(decoded));
  if (!frame) return false;
  queue_.Push(*std::move(frame));
  return true;
}

void FrameFeed::BeginEpoch() {
  MutexLock lock(mu_);
  previous_ = nullptr;
}

void FrameFeed::ChangeSize() {
  MutexLock lock(mu_);
  previous_ = nullptr;
  ++size_changes_;
}

std::int64_t FrameFeed::epoch() const {
  MutexLock lock(mu_);
  return epoch_;
}

std::int64_t FrameFeed::frames() const {
  MutexLock lock(mu_);
  return next_number_;
}

std::int64_t FrameFeed::size_changes() const {
  MutexLock lock(mu_);
  return size_changes_;
}

std::optional<nanoseconds> FrameFeed::PictureInterval() const {
  MutexLock lock(mu_);
  return pictures_.TypicalStep();
}

std::int64_t FrameFeed::skipped() const {
  MutexLock lock(mu_);
  return skipped_;
}

std::optional<Frame> FrameFeed::Stamp(DecodedPicture decoded) {
  const nanoseconds arrival = clock_.Now();
  MutexLock lock(mu_);
  const bool first = previous_ == nullptr;
  if (first) {
    if (next_number_ > 0) ++epoch_;
    epoch_start_ = arrival;
    pictures_.Restart();
    gaps_.Restart();
    limit_.Restart();
  }
  const nanoseconds stream_time = decoded.stream_time.value_or(arrival - epoch_start_);
  static_cast<void>(pictures_.IsGap(stream_time));
  if (!limit_.Passes(stream_time) || !arrival_limit_.Passes(arrival)) {
    ++skipped_;
    return std::nullopt;
  }
  Frame frame;
  frame.number = next_number_++;
  frame.epoch = epoch_;
  frame.arrival = arrival;
  frame.stream_time = stream_time;
  frame.camera_time = decoded.camera_time;
  frame.picture = decoded.picture;
  frame.loss_observer = std::move(decoded.loss_observer);
  const bool gap = gaps_.IsGap(frame.stream_time) && !decoded.follows;
  frame.predecessor = first ? NoPredecessor::kFirst
                      : gap ? NoPredecessor::kGap
                            : NoPredecessor::kHasOne;
  if (frame.predecessor == NoPredecessor::kGap) ++gaps_seen_;
  frame.gaps = gaps_seen_;
  frame.size_changes = size_changes_;
  if (frame.predecessor == NoPredecessor::kHasOne) {
    frame.previous = previous_;
    frame.before = before_;
  }
  before_ = frame.previous;
  previous_ = std::move(decoded.picture);
  return frame;
}

}  // namespace millrace::ingest
