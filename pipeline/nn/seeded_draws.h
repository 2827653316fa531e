// Random numbers that depend on a seed alone, not on other threads.
//
// LibTorch has one generator per process, and a network's dropout always uses it. Stages on several
// threads would draw from it in the order of their timing. A repeated forward would draw other
// numbers than the first one.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/nn/operator_hook.h"

namespace millrace::pipeline {

/// Mixes two numbers into a seed. Similar numbers give unrelated seeds.
[[nodiscard]] std::uint64_t MixSeeds(std::uint64_t seed, std::uint64_t number);

/// During its lifetime, CPU operators that this thread calls without a generator use one that
/// starts with `seed`: dropout, rand_like, normal_ ..., from C++ or TorchScript. The first draw
/// seeds the generator. REQUIRES: the thread has no other SeededDraws.
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
