// The frames inside the learner, so that each prediction finds its frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/mutex.h"
#include "ingest/frame/frame.h"

namespace millrace::service {

/// A frame in the learner, and the camera's state when the learner received it.
struct FrameInFlight {
  ingest::Frame frame;
  int camera_width = 0;
  int camera_height = 0;
  /// It is the learner's first frame after a gap, or after a change of the camera's size.
  bool after_gap = false;
  bool new_size = false;
};

/// Frames by the learner's consecutive sample numbers. It holds the learner's frames and the one
/// being admitted. Thread-safe; only one thread adds.
class FramesInFlight {
 public:
  /// Sets the number of the first sample. Call it before any other function.
  void StartAt(std::int64_t sample) ABSL_LOCKS_EXCLUDED(mu_);

  /// Stores `frame` under the next sample number and returns the number. Call it before admission,
  /// because the prediction may arrive before the admitting call returns.
  std::int64_t Add(FrameInFlight frame) ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes the last added frame, whose admission failed. The next frame gets its number.
  void TakeBack() ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes and returns the frame of `sample`; nullopt after Clear(). REQUIRES: in the order of
  /// the samples.
  [[nodiscard]] std::optional<FrameInFlight> Take(std::int64_t sample) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::size_t size() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes all frames and returns them.
  std::deque<FrameInFlight> Clear() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::deque<FrameInFlight> frames_ ABSL_GUARDED_BY(mu_);
  std::int64_t next_ ABSL_GUARDED_BY(mu_) = 0;  // The sample number of the next frame.
};

}  // namespace millrace::service
