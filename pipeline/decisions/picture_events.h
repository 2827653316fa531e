// Tells pairs of pictures that show no motion of things: a picture that is repeated, a camera that
// stands still for good, a cut to another scene.
//
// A learner that went on learning from them would forget: a repeated picture teaches that nothing
// ever moves, a cut that everything jumps.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "pipeline/decisions/skip_reason.h"

namespace millrace::pipeline {

struct PictureEventOptions {
  /// A pair whose mean difference of a pixel (of 0 to 1) is no more is a repetition. A quarter of a
  /// thousandth is a sixteenth of a grey level: less than the noise of any sensor.
  double repeated_below = 0.00025;
  /// So many repetitions in a row are a frozen picture. At least 1.
  int frozen_after = 10;
  /// A cut is a difference of more than so many times the median of the last ones ...
  double cut_factor = 4;
  /// ... and of at least so much.
  double cut_least = 0.06;
};

/// The mean difference of two pictures' bytes, of 0 to 1. REQUIRES: as many, and some.
[[nodiscard]] double MeanDifference(std::span<const std::uint8_t> a,
                                    std::span<const std::uint8_t> b);

/// Looks at one camera's pairs. Not thread-safe: to be asked once for each pair, in their order.
class PictureEvents {
 public:
  explicit PictureEvents(const PictureEventOptions& options) : options_(options) {}

  /// What the next pair is, whose mean difference of a pixel is `difference`: kRepeated, kFrozen,
  /// kCut or kNone.
  [[nodiscard]] SkipReason Next(double difference);

  /// What a pair is that was, or may have been, asked for before: kRepeated, kCut or kNone.
  [[nodiscard]] SkipReason Like(double difference) const;

 private:
  [[nodiscard]] bool IsCut(double difference) const;

  const PictureEventOptions options_;
  int repetitions_ = 0;
  std::deque<double> differences_;  // Of the last pairs that were no repetitions.
};

}  // namespace millrace::pipeline
