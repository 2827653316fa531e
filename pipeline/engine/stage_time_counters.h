// Sums up the working time of each stage, since its network was made.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::pipeline {

/// Thread-safe. Add() takes no lock and allocates nothing.
class StageTimeCounters {
 public:
  /// `max_stages`: the largest number of stages.
  explicit StageTimeCounters(std::size_t max_stages) : times_(max_stages) {}

  StageTimeCounters(const StageTimeCounters&) = delete;
  StageTimeCounters& operator=(const StageTimeCounters&) = delete;

  /// Adds `took` to the stage of `step`. REQUIRES: its stage is at most the largest number of
  /// stages.
  void Add(const Step& step, nanoseconds took);

  /// The times of the first `stages` stages. REQUIRES: at most the largest number of stages.
  [[nodiscard]] std::vector<StageTime> Of(std::size_t stages) const;

 private:
  // In nanoseconds. On its own cache line, because other threads write the neighbours.
  struct alignas(64) Sums {
    std::atomic<std::int64_t> predicting = 0;
    std::atomic<std::int64_t> learning = 0;
  };

  std::vector<Sums> times_;  // Allocated at construction, never moved.
};

}  // namespace millrace::pipeline
