// A network without buffers allocates nothing for a sample, from the admission to the update, but
// what LibTorch's own operators do.
#include <memory>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "pipeline/engine.h"
#include "pipeline/schedules.h"
#include "pipeline/staged_network.h"
#include "tests/pipeline/counted_allocations.h"
#include "tests/pipeline/small_chain.h"

namespace millrace::pipeline {
namespace {

const Cuts kCuts = {2, 4};

// Of `samples` samples, after as many that warm the engine and the network up.
std::int64_t AllocationsOf(const std::string& schedule, OptimizerOptions::Kind optimizer,
                           int samples) {
  at::set_num_threads(1);
  const LayerChain chain = SmallChain();
  const std::vector<StageCost> costs(kCuts.size() + 1, {.forward = 1e-5, .backward = 2e-5});
  const Plan plan = *MakePlan(schedule, {.shape = ShapeOf(chain, kCuts), .costs = costs});
  StagedNetwork network(
      {.chain = chain,
       .cuts = kCuts,
       .plan = plan,
       .judge = [](const Judgement& made) { return made.output.square().mean(); },
       .local_objective = [](int /*stage*/, std::int64_t /*sample*/, const at::Tensor& /*input*/,
                             const at::Tensor& output) { return output.square().mean(); },
       .optimizer = {.kind = optimizer, .learning_rate = 1e-3}});
  auto engine = *Engine::Start({.plan = plan,
                                .run = [&network](const Step& step) { network.Run(step); },
                                .on_worker_start = [](int /*device*/) { at::set_num_threads(1); },
                                .gate_costs = costs});
  const at::Tensor input = at::full({1, kWidth}, 0.1);
  std::int64_t before = 0;
  for (int i = 0; i < 2 * samples; ++i) {
    if (i == samples) before = OwnAllocations();
    EXPECT_TRUE(engine->AwaitRoom().ok());
    EXPECT_TRUE(engine->Admit([&](std::int64_t n) { network.Admit(n, input); }).ok());
  }
  const std::int64_t after = OwnAllocations();
  EXPECT_TRUE(engine->Drain().ok());
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
