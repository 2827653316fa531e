#include "ingest/frame/frame_queue.h"

#include <utility>

namespace millrace::ingest {

FrameQueue::FrameQueue(std::size_t capacity, WhenFull when_full)
    : when_full_(when_full), frames_(capacity) {}

void FrameQueue::Push(Frame frame) {
  ++received_;
  if (when_full_ == WhenFull::kWait) {
    const std::shared_ptr<FrameLossObserver> loss_observer = frame.loss_observer;
    if (frames_.PushOrWait(std::move(frame))) return;
    ++rejected_after_close_;
    if (loss_observer != nullptr) loss_observer->Lost(QueueLoss::kClosed);
    return;
  }
  if (when_full_ == WhenFull::kDropNewest) return PushIfRoom(std::move(frame));
  const std::int64_t number = frame.number;
  const std::optional<Frame> lost = frames_.PushOrDropOldest(std::move(frame));
  if (!lost) return;
  // A closed queue returns the new frame, a full one an older frame.
  const bool closed = lost->number == number;
  ++(closed ? rejected_after_close_ : dropped_);
  if (lost->loss_observer != nullptr) {
    lost->loss_observer->Lost(closed ? QueueLoss::kClosed : QueueLoss::kFull);
  }
}

void FrameQueue::PushIfRoom(Frame frame) {
  using Pushed = BoundedQueue<Frame>::Pushed;
  const std::shared_ptr<FrameLossObserver> loss_observer = frame.loss_observer;
  const Pushed pushed = frames_.PushIfRoom(std::move(frame));
  if (pushed == Pushed::kYes) return;
  const bool closed = pushed == Pushed::kClosed;
  ++(closed ? rejected_after_close_ : dropped_);
  if (loss_observer != nullptr) loss_observer->Lost(closed ? QueueLoss::kClosed : QueueLoss::kFull);
}

std::optional<Frame> FrameQueue::Pop() { return frames_.Pop(); }

void FrameQueue::Close() { frames_.Close(); }

}  // namespace millrace::ingest
