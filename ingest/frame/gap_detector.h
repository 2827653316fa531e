// Detects missing frames between two frames by the stream's timestamps.
//
// A learner pairs each frame with the one before. If frames between them were lost (a lost packet,
// a damaged picture), the pair shows a false motion and must be left out.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace millrace::ingest {

/// Compares each step between timestamps with the typical recent one.
///
/// The rule: a step is a gap if it exceeds 2.5 times the median of the last nine steps. A step is
/// also a gap if time does not go forward. A camera whose jitter is half its interval makes no gap.
/// A single missing frame is a gap unless jitter hides it. A camera that stays slower becomes the
/// new normal after five steps.
///
/// Not thread-safe.
class GapDetector {
 public:
  /// Takes the next frame's timestamp. Returns whether frames are missing right before it. The
  /// first frame is no gap. The first three steps have no typical step to compare with: they are
  /// gaps only if time does not go forward.
  [[nodiscard]] bool IsGap(std::chrono::nanoseconds stream_time);

  /// Discards all timestamps, because they start again.
  void Restart();

  /// The median of the latest steps; nullopt before the third step.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> TypicalStep() const;

 private:
  std::optional<std::chrono::nanoseconds> last_;
  std::deque<std::chrono::nanoseconds> steps_;
};

}  // namespace millrace::ingest
