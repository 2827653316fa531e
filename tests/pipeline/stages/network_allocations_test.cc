// For a sample, from the admission to the update, only LibTorch's own operators allocate memory.
// This holds for a network without buffers.
#include <memory>

#include <gtest/gtest.h>

#include "pipeline/schedules/schedules.h"
#include "tests/pipeline/support/counted_allocations.h"
#include "tests/pipeline/support/small_chain.h"
#include "tests/pipeline/support/small_stream.h"

namespace millrace::pipeline {
namespace {

// Of `samples` samples, after as many that warm the engine and the network up.
std::int64_t AllocationsOf(const std::string& schedule, OptimizerOptions::Kind optimizer,
                           int samples) {
  SmallStream stream(SmallChain(), {2, 4}, schedule, {.kind = optimizer, .learning_rate = 1e-3});
  const at::Tensor input = at::full({1, kWidth}, 0.1);
  std::int64_t before = 0;
  for (int i = 0; i < 2 * samples; ++i) {
    if (i == samples) before = OwnAllocations();
    stream.Admit(input);
  }
  const std::int64_t after = OwnAllocations();
  stream.Drain();
  return after - before;
}

TEST(NetworkAllocationsTest, ThereAreNoneUnderAnySchedule) {
  for (const std::string& schedule : ScheduleNames()) {
    EXPECT_EQ(AllocationsOf(schedule, OptimizerOptions::Kind::kRmsProp, 300), 0) << schedule;
  }
}

TEST(NetworkAllocationsTest, ThereAreNoneWithAnyOptimizer) {
  using enum OptimizerOptions::Kind;
  for (const OptimizerOptions::Kind kind : {kSgd, kRmsProp, kAdam, kAdamW}) {
    EXPECT_EQ(AllocationsOf("partime", kind, 300), 0) << static_cast<int>(kind);
  }
}

// The count counts: else a network that allocates would pass.
TEST(NetworkAllocationsTest, WhatTheProgramAllocatesIsCounted) {
  const std::int64_t before = OwnAllocations();
  const auto number = std::make_unique<std::int64_t>(before);
  EXPECT_EQ(OwnAllocations(), *number + 1);
  const auto numbers = std::make_unique<std::int64_t[]>(OwnAllocations());
  EXPECT_EQ(OwnAllocations(), *number + 2);
}

}  // namespace
}  // namespace millrace::pipeline
