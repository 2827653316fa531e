// No two stages share a stream, although a GPU has only a few and gives them out in turn.
#include "pipeline/device/stage_stream.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/gpu/gpu_tests.h"
#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

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

SmallRun RunOf(int stages) {
  SmallRun run{.schedule = "one_f_one_b_star", .stages = stages};
  run.optimizer.kind = pipeline::OptimizerOptions::Kind::kAdam;
  return run;
}

Outcome Captured(SmallRun run, const std::vector<at::Tensor>& inputs) {
  run.devices = {kGpu};
  run.captures = true;
  return InTheEngine(run, inputs);
}

// What others would put there would land in the graph.
TEST(StageStreamTest, NobodyGetsAStreamThatIsRecorded) {
  int recordings = 0;
  WhileRecording([&recordings] {
    ++recordings;
    for (const auto& stream : Take(kPoolStreams)) {
      EXPECT_FALSE(Streams::Get().recording(NumberOf(stream->get())));
    }
  });
  const std::vector<at::Tensor> inputs = pipeline::SmallInputs(30);
  ExpectNear(Captured(RunOf(3), inputs), Serially(RunOf(3), inputs));
  WhileRecording({});
  EXPECT_GT(recordings, 0);
}

// The next plan's stages have the streams that the stages before it had.
TEST(StageStreamTest, APlanThatFollowsAnotherNeedsNoMoreStreams) {
  const Taken taken = Take(kPoolStreams - 3);
  SmallRun run = RunOf(3);
  run.schedule = "hybrid";
  run.request.switch_at = 30;
  const std::vector<at::Tensor> inputs = pipeline::SmallInputs(60);
  const Outcome made = Captured(run, inputs);
  ExpectNear(made, Serially(run, inputs));
  EXPECT_THAT(made.why_not_captured, Each(""));
}

TEST(StageStreamTest, AStageThatShouldShareOneGoesWithoutAndSaysWhy) {
  const std::vector<at::Tensor> inputs = pipeline::SmallInputs(30);
  const SmallRun run = RunOf(3);
  const Taken taken = Take(kPoolStreams - 2);
  const Outcome made = Captured(run, inputs);
  ExpectNear(made, Serially(run, inputs));
  EXPECT_THAT(made.why_not_captured, Contains(HasSubstr("all CUDA streams of its GPU")));
}

}  // namespace
}  // namespace millrace::soft_gpu
