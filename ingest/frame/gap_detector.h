// Tells from a stream's own timestamps whether frames are missing between two of its frames.
//
// A learner pairs each frame with the one before. Where frames got lost on the way (a packet, a
// damaged picture), that pair shows a motion that never happened, so it must be known and left out.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace millrace::ingest {

/// Compares each step between timestamps with the typical one of late.
///
/// The rule: a step is a gap when it is over 2.5 times the median of the last nine steps, or when
/// time stands still or runs backwards. Two frames of a camera that jitters by half its interval
/// are no gap; a single missing frame is one unless the jitter hides it. A camera that slows
/// down for good becomes the new normal after five steps.
///
/// Not thread-safe.
class GapDetector {
 public:
  /// Takes the next frame's timestamp. Returns whether frames are missing right before it. The
  /// first frame, and a step that is among the first three, which have nothing to be compared with,
  /// are gaps only if time does not go forward.
  [[nodiscard]] bool IsGap(std::chrono::nanoseconds stream_time);

  /// Forgets everything: the timestamps start again.
  void Restart();

  /// The median of the last steps; nullopt before the third.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> TypicalStep() const;

 private:
  std::optional<std::chrono::nanoseconds> last_;
  std::deque<std::chrono::nanoseconds> steps_;
};

}  // namespace millrace::ingest
