// Sums up for how long each stage has worked, since its network was made.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::pipeline {

/// Thread-safe. Add() takes no lock and allocates nothing.
class StageTimes {
 public:
  /// For at most so many stages.
  explicit StageTimes(std::size_t most_stages) : times_(most_stages) {}

  StageTimes(const StageTimes&) = delete;
  StageTimes& operator=(const StageTimes&) = delete;

  /// `step` took so long. REQUIRES: its stage is one of those that there may be.
  void Add(const Step& step, nanoseconds took);

  /// Of the first `stages` stages. REQUIRES: no more than there may be.
  [[nodiscard]] std::vector<StageTime> Of(std::size_t stages) const;

 private:
  // In nanoseconds. On cache lines of its own: its neighbours are written by other threads.
  struct alignas(64) Sums {
    std::atomic<std::int64_t> predicting = 0;
    std::atomic<std::int64_t> learning = 0;
  };

  std::vector<Sums> times_;  // In place from construction on.
};

}  // namespace millrace::pipeline
