// Measures how fast the CPU's cores compute at this moment.
//
// CPU time does not count the time in which a thread waits for a core. But a shared core computes
// more slowly: two SMT threads share its units, and cores share caches and memory. Beside busy
// learners, the same work took half as much CPU time again.
#pragma once

#include <limits>

#include <ATen/core/Tensor.h>

#include "base/mutex.h"

namespace millrace::pipeline {

/// A fixed piece of work that resembles a learner's: convolutions, as matrix products, and
/// activations. It allocates nothing, because the time of an allocation varies.
class Yardstick {
 public:
  Yardstick();

  /// CPU time of one run on the calling thread, in milliseconds: about 1.
  [[nodiscard]] double RunMs();

 private:
  at::Tensor weights_;
  at::Tensor values_;
  at::Tensor made_;
};

/// The fastest core speed seen so far, which stands for an idle core. Thread-safe.
class FastestCore {
 public:
  /// A run of the yardstick took `ms`: returns this time divided by the fastest one. 1 if `ms` is
  /// not positive.
  [[nodiscard]] double SlownessOf(double ms) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Mutex mu_;
  double min_ms_ ABSL_GUARDED_BY(mu_) = std::numeric_limits<double>::infinity();
};

/// One for the program. The first measurement is made before a learner starts.
[[nodiscard]] FastestCore& FastestCoreOfThisProgram();

}  // namespace millrace::pipeline
