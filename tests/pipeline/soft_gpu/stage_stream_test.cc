// Streams of stages are nobody else's, though a GPU has a few and gives them out in turn.
#include "pipeline/stage_stream.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/gpu_tests.h"
#include "tests/pipeline/soft_gpu/soft_gpu.h"

namespace millrace::soft_gpu {
namespace {

using pipeline::kGpu;
using pipeline::Outcome;
using pipeline::SmallRun;
using pipeline::StageStream;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;

using Taken = std::vector<std::unique_ptr<const StageStream>>;

Taken Take(int count) {
  Taken taken;
  for (int i = 0; i < count; ++i) taken.push_back(std::make_unique<StageStream>(kGpu));
  return taken;
}

bool IsShared(const StageStream& stream) {
  const c10::StreamGuard guard(stream.get());
  return pipeline::StreamIsShared(kGpu);
}

TEST(StageStreamTest, IsNobodyElsesUntilNoneIsLeft) {
  Taken taken = Take(kPoolStreams);
  for (const auto& one : taken) {
    EXPECT_FALSE(IsShared(*one));
    const auto is_it = [&](const auto& other) { return other->get() == one->get(); };
    EXPECT_EQ(std::ranges::count_if(taken, is_it), 1);
  }
  EXPECT_TRUE(IsShared(StageStream(kGpu)));
  EXPECT_NE(StageStream({at::kCUDA, 1}).get().id(), 0) << "the other GPU has its own";
  const c10::Stream freed = taken[3]->get();
  taken[3].reset();
  EXPECT_EQ(StageStream(kGpu).get(), freed);
}

// LibTorch has one generator of random weights for all threads.
pipeline::LayerChain ChainOfOneThread() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return pipeline::SmallChain();
}

SmallRun RunOf(int stages) {
  SmallRun run{.schedule = "one_f_one_b_star", .stages = stages, .make_chain = ChainOfOneThread};
  run.optimizer.kind = pipeline::OptimizerOptions::Kind::kAdam;
  return run;
}

Outcome Captured(SmallRun run, const std::vector<at::Tensor>& inputs) {
  run.devices = {kGpu};
  run.captures = true;
  return InTheEngine(run, inputs);
}

// What the one that lasts puts into its streams lands in no graph of those that come and go, which
// go through all streams there are.
TEST(StageStreamTest, LearnersThatComeAndGoDoNotDisturbOneThatLasts) {
  constexpr int kStarts = 12;
  const std::vector<at::Tensor> many = pipeline::SmallInputs(800);
  const std::vector<at::Tensor> few(many.begin(), many.begin() + 30);
  const Outcome of_many = Serially(RunOf(3), many);
  const Outcome of_few = Serially(RunOf(2), few);
  const auto learn = [](int stages, const std::vector<at::Tensor>& inputs,
                        const Outcome& expected) {
    const Outcome made = Captured(RunOf(stages), inputs);
    ExpectNear(made, expected);
    EXPECT_THAT(made.why_not_captured, Each(""));
  };
  const std::jthread lasting([&] { learn(3, many, of_many); });
  for (int i = 0; i < kStarts; ++i) learn(2, few, of_few);
}

TEST(StageStreamTest, AStageThatShouldShareOneGoesWithoutAndSaysWhy) {
  const std::vector<at::Tensor> inputs = pipeline::SmallInputs(30);
  const SmallRun run = RunOf(3);
  const Taken taken = Take(kPoolStreams - 2);
  const Outcome made = Captured(run, inputs);
  ExpectNear(made, Serially(run, inputs));
  EXPECT_THAT(made.why_not_captured, Contains(HasSubstr("all streams of its GPU")));
}

}  // namespace
}  // namespace millrace::soft_gpu
