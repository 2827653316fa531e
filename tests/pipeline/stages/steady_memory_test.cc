// A network's memory stays the same after a while. A tiny network learns from 100,000 samples: the
// smallest object left behind by each sample would add ten times the limit.
#include <malloc.h>

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "pipeline/schedules/schedules.h"
#include "tests/pipeline/support/small_chain.h"
#include "tests/pipeline/support/small_stream.h"

namespace millrace::pipeline {
namespace {

constexpr double kMaxGrowth = 256e3;  // Bytes: what is in flight, and what caches still took.

// Bytes that the program has allocated and not freed.
double InUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

// How much more is in use at the end of `samples` samples than after a fifth of them.
double GrowthOver(const std::string& schedule, int samples) {
  LayerChain chain;
  for (const char* name : {"first", "last"}) {
    chain.layers.push_back(std::make_unique<SmallLayer>(name, 0));
  }
  SmallStream stream(std::move(chain), {1}, schedule, {.learning_rate = 1e-3});
  double before = 0;
  for (int i = 0; i < samples; ++i) {
    if (i == samples / 5) before = InUse();
    stream.Admit(at::full({1, kWidth}, 0.01 * (i % 100)));
  }
  const double growth = InUse() - before;
  stream.Drain();
  return growth;
}

TEST(SteadyMemoryTest, IsFlatOverAHundredThousandSamples) {
  EXPECT_LT(GrowthOver("one_f_one_b_star", 100000), kMaxGrowth);
}

TEST(SteadyMemoryTest, IsFlatUnderEverySchedule) {
  for (const std::string& schedule : ScheduleNames()) {
    EXPECT_LT(GrowthOver(schedule, 1000), kMaxGrowth) << schedule;
  }
}

}  // namespace
}  // namespace millrace::pipeline
