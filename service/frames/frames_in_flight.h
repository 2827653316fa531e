// The frames inside the learner, so that its predictions find the frames that they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/mutex.h"
#include "ingest/frame/frame.h"

namespace millrace::service {

/// A frame that the learner has, and what was known of its camera when it got it.
struct FrameInFlight {
  ingest::Frame frame;
  int camera_width = 0;
  int camera_height = 0;
  /// It is the first that the learner got since a gap, or since the camera's size changed.
  bool after_gap = false;
  bool new_size = false;
};

/// Frames by the sample numbers that the learner gives them, each one more than the one before. As
/// many as the learner
/// holds, plus the one being admitted. Thread-safe; one thread adds.
class FramesInFlight {
 public:
  /// The number of the first sample. To be called before any other.
  void StartAt(std::int64_t sample) ABSL_LOCKS_EXCLUDED(mu_);

  /// Remembers `frame` under the next sample number and returns that. Called before the frame is
  /// admitted, because its prediction may come before the call that admits it returns.
  std::int64_t Add(FrameInFlight frame) ABSL_LOCKS_EXCLUDED(mu_);
  /// Forgets the frame added last, whose admission failed; its number goes to the next one.
  void TakeBack() ABSL_LOCKS_EXCLUDED(mu_);
  /// Hands over the frame of `sample`; nullopt after Clear(). REQUIRES: in the order of the
  /// samples.
  [[nodiscard]] std::optional<FrameInFlight> Take(std::int64_t sample) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::size_t size() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Forgets all of them and returns how many they were.
  std::size_t Clear() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::deque<FrameInFlight> frames_ ABSL_GUARDED_BY(mu_);
  std::int64_t next_ ABSL_GUARDED_BY(mu_) = 0;  // The number of the next frame added.
};

}  // namespace millrace::service
