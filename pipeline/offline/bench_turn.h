// Measures one turn of a contender of a benchmark.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace millrace::pipeline {

/// Figures of the counted samples of one turn.
struct BenchTurn {
  double samples_per_second = 0;
  /// Mean time from admission to prediction.
  double delay_ms = 0;
  /// Idle share of the devices' time. A GPU is idle while it has no work of any stage. nullopt
  /// without devices, and for a GPU that launches single kernels.
  std::optional<double> idle;
  /// CPU time of the whole process.
  double cpu_ms_per_sample = 0;
  /// Peak use of the GPU's memory, including the memory of other contenders. nullopt on the CPU.
  std::optional<double> gpu_bytes = {};
  /// If graphs were requested: the stages that could not be captured, and why.
  std::string why_not_captured = {};
};

/// The times of one turn. Samples are admitted and predicted in order, from 0. Thread-safe.
class TurnLog {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// One operation.
  struct Work {
    Time start;
    Time end;
  };

  void Admitted() ABSL_LOCKS_EXCLUDED(mu_);
  void Predicted() ABSL_LOCKS_EXCLUDED(mu_);
  void Worked(Work work) ABSL_LOCKS_EXCLUDED(mu_);

  /// The figures of `count` samples from `first` on, between the predictions of sample first - 1
  /// and of the last one. `devices` 0: there are no devices. REQUIRES: first > 0; all these samples
  /// have been predicted.
  [[nodiscard]] BenchTurn Figures(std::int64_t first, std::int64_t count, int devices) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Prediction {
    Time time;
    double cpu_seconds;
  };

  mutable Mutex mu_;
  std::vector<Time> admitted_ ABSL_GUARDED_BY(mu_);
  std::vector<Prediction> predicted_ ABSL_GUARDED_BY(mu_);
  std::vector<Work> work_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
