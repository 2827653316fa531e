// Reduces learning before frames are dropped. If a pipeline is too slow for its camera, it learns
// from every second frame, every fourth ... and finally only predicts. It learns more again when
// there is time.
//
//   frames dropped  ──▶  1 ▶ 2 ▶ 4 ▶ ... ▶ 64 ▶ predict only
//   time to spare   ──▶  one step back, after three windows without a drop
#pragma once

#include <cstdint>

#include "pipeline/learner/learner_description.h"

namespace millrace::service {

/// Decides once per window of frames. Not thread-safe.
class EffortController {
 public:
  /// Starts with the `update_every` and the measured stage costs in `learner`.
  explicit EffortController(const pipeline::LearnerDescription& learner);

  /// Records frame `number`, which arrived at `arrival_s`; the queue has dropped `dropped` frames
  /// so far. Returns the new `update_every`: the learner learns from one sample in that many; 0:
  /// from no sample. REQUIRES: in the order of the frames.
  int OnFrame(std::int64_t number, double arrival_s, std::uint64_t dropped);

  [[nodiscard]] int update_every() const { return update_every_; }

 private:
  void CloseWindow(std::int64_t frames, double interval_s, std::uint64_t dropped);
  [[nodiscard]] double PeriodAt(int update_every) const;

  // Constant until the assignment of another controller.
  pipeline::LearnerDescription learner_;

  int update_every_;
  int quiet_windows_ = 0;
  std::int64_t first_number_ = -1;
  double first_arrival_s_ = 0;
  std::uint64_t first_dropped_ = 0;
};

}  // namespace millrace::service
