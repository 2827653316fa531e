// An observer of one frame's loss. It travels with the frame from the source to its end.
#pragma once

namespace millrace::ingest {

/// How a frame is lost before its processing starts.
enum class QueueLoss {
  kFull,    ///< A newer frame displaced it.
  kClosed,  ///< Its source was stopped.
};

/// Belongs to a frame and its copies. A component that drops a frame calls Lost() with the cause. A
/// frame dropped without a call ends with the observer's destruction. Only one thread at a time
/// calls Lost(), which must return quickly.
class FrameLossObserver {
 public:
  virtual ~FrameLossObserver() = default;
  virtual void Lost(QueueLoss loss) = 0;
};

}  // namespace millrace::ingest
