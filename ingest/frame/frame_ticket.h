// Who waits to hear what becomes of one frame: travels with it from its source to its end.
#pragma once

namespace millrace::ingest {

/// How a frame is lost before anybody has looked at it.
enum class QueueLoss {
  kFull,    ///< A fresher one pushed it out.
  kClosed,  ///< Its source was stopped.
};

/// A frame's, kept by it and its copies. Whoever lets go of a frame says why; what is let go of in
/// silence ends with the ticket's destruction. Told by one thread at a time; it must be quick.
class FrameTicket {
 public:
  virtual ~FrameTicket() = default;
  virtual void Lost(QueueLoss loss) = 0;
};

}  // namespace millrace::ingest
