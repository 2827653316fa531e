// How fast the cores of the CPU compute at this moment.
//
// CPU time does not count what a thread waits for a core, but a core that is shared computes more
// slowly all the same: two threads of one core (SMT) share its units, and cores share caches and
// memory. Beside busy learners the same work was seen to take half as much CPU time again.
#pragma once

#include <limits>

#include <ATen/core/Tensor.h>

#include "base/mutex.h"

namespace millrace::pipeline {

/// A fixed piece of work of the kind that learners do: convolutions, as products of matrices, and
/// activations. It allocates nothing, which would take another time each time.
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

/// The fastest that a core was seen to be, which stands for an idle one. Thread-safe.
class FastestCore {
 public:
  /// How many times as long as on the fastest core a run of the yardstick takes that took `ms`; 1
  /// for what is not positive.
  [[nodiscard]] double SlownessOf(double ms) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Mutex mu_;
  double least_ms_ ABSL_GUARDED_BY(mu_) = std::numeric_limits<double>::infinity();
};

/// Since the program's start. What is measured first is measured before anything learns.
[[nodiscard]] FastestCore& FastestCoreOfThisProgram();

}  // namespace millrace::pipeline
