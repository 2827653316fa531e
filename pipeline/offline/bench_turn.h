// What happens while a contender of a benchmark has its turn.
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
  /// From admission to prediction, on average.
  double delay_ms = 0;
  /// Share of the time in which a device does no operation; a GPU, none of any stage. Nothing where
  /// there are no devices, and of a GPU whose operations are launched kernel by kernel.
  std::optional<double> idle;
  /// Of the whole process.
  double cpu_ms_per_sample = 0;
  /// The most of a GPU's memory in use at once, what other contenders keep included. Nothing on the
  /// CPU.
  std::optional<double> gpu_bytes = {};
  /// Where graphs were asked for and a stage goes without: which and why.
  std::string why_not_captured = {};
};

/// The moments of one turn. Samples are admitted and predicted in order, from 0. Thread-safe.
class TurnLog {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// An operation.
  struct Work {
    Time start;
    Time end;
  };

  void Admitted() ABSL_LOCKS_EXCLUDED(mu_);
  void Predicted() ABSL_LOCKS_EXCLUDED(mu_);
  void Worked(Work work) ABSL_LOCKS_EXCLUDED(mu_);

  /// Of the samples from `first` on: what happened between the predictions of sample first - 1 and
  /// of the last one. `devices` 0: there are none. REQUIRES: first > 0; they have been predicted.
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
