// The effective share of a learner's configured learning rate: roll-backs reduce it.
#pragma once

#include <cstdint>

namespace millrace::pipeline {

/// Each roll-back halves the share. After each long time without a roll-back it doubles, up to 1.
/// Not thread-safe.
class RateBackoff {
 public:
  /// The limit of roll-backs in a row, without a long time between two of them. The rate is then a
  /// 4,096th: 0.00024 of the largest configurable rate, 1. Every network here learns at that rate,
  /// so the rate is not the cause of further failures.
  static constexpr int kMaxRollBacks = 12;

  /// A long time, in learned samples without a roll-back. Divergence shows within two windows of
  /// predictions, and weights prove good within 300 samples. So a rate that is too high fails well
  /// before, while a good rate is whole again after some minutes of video.
  static constexpr std::int64_t kRecoverAfter = 2000;

  explicit RateBackoff(double scale = 1) : scale_(scale) {}

  /// Each returns the new share.
  double OnRollBack();
  double OnLearned();
  /// Resets the count of roll-backs. `whole`: also resets the share to 1.
  double Restart(bool whole);

  [[nodiscard]] double scale() const { return scale_; }
  /// Whether there were kMaxRollBacks roll-backs in a row.
  [[nodiscard]] bool exhausted() const { return in_a_row_ >= kMaxRollBacks; }

 private:
  double scale_;
  int in_a_row_ = 0;
  std::int64_t since_roll_back_ = 0;  // Learned samples; also since the last doubling.
};

}  // namespace millrace::pipeline
