#include "ingest/frame_queue.h"

#include <utility>

namespace millrace::ingest {

FrameQueue::FrameQueue(std::size_t capacity, WhenFull when_full)
    : when_full_(when_full), frames_(capacity) {}

void FrameQueue::Push(Frame frame) {
  ++received_;
  if (when_full_ == WhenFull::kWait) {
    if (!frames_.PushOrWait(std::move(frame))) ++shut_out_;
    return;
  }
  if (when_full_ == WhenFull::kDropNewest) return PushIfRoom(std::move(frame));
  const std::int64_t number = frame.number;
  const std::optional<Frame> lost = frames_.PushOrDropOldest(std::move(frame));
  if (!lost) return;
  // A closed queue hands the frame itself back, a full one an older frame.
  ++(lost->number == number ? shut_out_ : dropped_);
}

void FrameQueue::PushIfRoom(Frame frame) {
  using Pushed = BoundedQueue<Frame>::Pushed;
  const Pushed pushed = frames_.PushIfRoom(std::move(frame));
  if (pushed == Pushed::kFull) ++dropped_;
  if (pushed == Pushed::kClosed) ++shut_out_;
}

std::optional<Frame> FrameQueue::Pop() { return frames_.Pop(); }

void FrameQueue::Close() { frames_.Close(); }

}  // namespace millrace::ingest
