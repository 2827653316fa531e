// Detects pairs of pictures that show no real motion: a repeated picture, a frozen camera, a cut to
// another scene.
//
// A learner that learned from them would forget. A repeated picture teaches that all objects stand
// still, and a cut that all objects jump.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "pipeline/decisions/skip_reason.h"

namespace millrace::pipeline {

struct PictureEventOptions {
  /// Repetitions in a row that make a frozen picture. At least 1.
  int frozen_after = 10;
};

/// The mean difference of two pictures' bytes, of 0 to 1. REQUIRES: equal sizes, not empty.
[[nodiscard]] double MeanDifference(std::span<const std::uint8_t> a,
                                    std::span<const std::uint8_t> b);

/// Checks the pairs of one camera. Not thread-safe: call it once for each pair, in order.
class PictureEvents {
 public:
  explicit PictureEvents(const PictureEventOptions& options) : options_(options) {}

  /// Classifies the next pair, whose mean difference of a pixel is `difference`: kRepeated,
  /// kFrozen, kCut or kNone.
  [[nodiscard]] SkipReason Next(double difference);

  /// Classifies a pair without adding it, such as one that was already added: kRepeated, kCut or
  /// kNone.
  [[nodiscard]] SkipReason Like(double difference) const;

 private:
  [[nodiscard]] bool IsCut(double difference) const;

  const PictureEventOptions options_;
  int repetitions_ = 0;
  std::deque<double> differences_;  // Of the last pairs that were not repetitions.
};

}  // namespace millrace::pipeline
