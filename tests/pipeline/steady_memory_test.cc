// A network that learns for long holds no more memory than after a while: over 100,000 samples of a
// tiny one, the smallest object that a sample left behind would add ten times what may be.
#include <malloc.h>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "pipeline/engine.h"
#include "pipeline/schedules.h"
#include "pipeline/staged_network.h"
#include "tests/pipeline/small_chain.h"

namespace millrace::pipeline {
namespace {

constexpr double kMostGrowth = 256e3;  // Bytes: what is in flight, and what caches still took.

// Bytes that the program has allocated and not freed.
double InUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

// How much more is in use at the end of `samples` samples than after a fifth of them.
double GrowthOver(const std::string& schedule, int samples) {
  at::set_num_threads(1);
  LayerChain chain;
  for (const char* name : {"first", "last"}) {
    chain.layers.push_back(std::make_unique<SmallLayer>(name, 0));
  }
  const std::vector<StageCost> costs(2, {.forward = 1e-5, .backward = 2e-5});
  const Plan plan = *MakePlan(schedule, {.shape = ShapeOf(chain, {1}), .costs = costs});
  const auto loss = [](const at::Tensor& output) { return output.square().mean(); };
  StagedNetwork network(
      {.chain = chain,
       .cuts = {1},
       .plan = plan,
       .judge = [&](const Judgement& made) { return loss(made.output); },
       .local_objective = [&](int /*stage*/, std::int64_t /*sample*/, const at::Tensor& /*input*/,
                              const at::Tensor& output) { return loss(output); },
       .optimizer = {.learning_rate = 1e-3}});
  auto engine = *Engine::Start({.plan = plan,
                                .run = [&network](const Step& step) { network.Run(step); },
                                .on_worker_start = [](int /*device*/) { at::set_num_threads(1); },
                                .gate_costs = costs});
  double before = 0;
  for (int i = 0; i < samples; ++i) {
    if (i == samples / 5) before = InUse();
    EXPECT_TRUE(engine->AwaitRoom().ok());
    const at::Tensor input = at::full({1, kWidth}, 0.01 * (i % 100));
    EXPECT_TRUE(engine->Admit([&](std::int64_t n) { network.Admit(n, input); }).ok());
  }
  const double growth = InUse() - before;
  EXPECT_TRUE(engine->Drain().ok());
  return growth;
}

TEST(SteadyMemoryTest, IsFlatOverAHundredThousandSamples) {
  EXPECT_LT(GrowthOver("one_f_one_b_star", 100000), kMostGrowth);
}

TEST(SteadyMemoryTest, IsFlatUnderEverySchedule) {
  for (const std::string& schedule : ScheduleNames()) {
    EXPECT_LT(GrowthOver(schedule, 1000), kMostGrowth) << schedule;
  }
}

}  // namespace
}  // namespace millrace::pipeline
