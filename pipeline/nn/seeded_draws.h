// Random numbers that depend on a seed alone, whatever other threads draw.
//
// LibTorch has one generator for the whole process, and a network's dropout takes no other: stages
// on several threads would draw from it in the order of their timing, and a forward that is run
// again would draw other numbers than the first time.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/nn/operator_hook.h"

namespace millrace::pipeline {

/// A seed made of two numbers, as good as random however alike they are.
[[nodiscard]] std::uint64_t MixSeeds(std::uint64_t seed, std::uint64_t number);

/// While it lives, operators that this thread calls on the CPU without a generator draw from one
/// that starts with `seed`: dropout, rand_like, normal_ ... whether called from C++ or TorchScript.
/// The seeding is done with the first draw. REQUIRES: no other one lives on the thread.
class SeededDraws {
 public:
  explicit SeededDraws(std::uint64_t seed);
  ~SeededDraws();

  SeededDraws(const SeededDraws&) = delete;
  SeededDraws& operator=(const SeededDraws&) = delete;

 private:
  const HookedOperators hooked_;
};

}  // namespace millrace::pipeline
