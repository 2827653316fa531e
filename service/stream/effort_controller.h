// Gives up learning before frames: where a pipeline is too slow for its camera, it learns from
// every second frame, every fourth ... then only predicts; and goes back when there is room again.
//
//   frames dropped  ──▶  1 ▶ 2 ▶ 4 ▶ ... ▶ 64 ▶ predict only
//   room for more   ──▶  one step back, after three windows without a drop
#pragma once

#include <cstdint>

#include "pipeline/learner/learner_description.h"

namespace millrace::service {

/// Decides, a window of frames at a time. Not thread-safe.
class EffortController {
 public:
  /// From every which sample a learner as described learns to begin with, and what its stages cost.
  explicit EffortController(const pipeline::LearnerDescription& learner);

  /// Takes frame `number`, which arrived at `arrival_s`, into account, when `dropped` frames have
  /// been pushed out of the queue so far. Returns from every which sample to learn from now on; 0:
  /// none. REQUIRES: in the order of the frames.
  int OnFrame(std::int64_t number, double arrival_s, std::uint64_t dropped);

  [[nodiscard]] int update_every() const { return update_every_; }

 private:
  void CloseWindow(std::int64_t frames, double interval_s, std::uint64_t dropped);
  [[nodiscard]] double PeriodAt(int update_every) const;

  // Constant as long as it lives; another controller may take its place.
  pipeline::LearnerDescription learner_;

  int update_every_;
  int quiet_windows_ = 0;
  std::int64_t first_number_ = -1;
  double first_arrival_s_ = 0;
  std::uint64_t first_dropped_ = 0;
};

}  // namespace millrace::service
