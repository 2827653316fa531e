// GPUs made of software do go wrong where real ones may: otherwise tests on them prove nothing.
#include "tests/pipeline/soft_gpu/soft_gpu.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/DeviceAccelerator.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/ops/match.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/schedules/schedules.h"
#include "tests/pipeline/soft_gpu/streams.h"
#include "tests/pipeline/support/optimizer_kinds.h"
#include "tests/pipeline/support/small_runs.h"

namespace millrace::soft_gpu {
namespace {

constexpr int kTries = 100;
const at::Device kGpu(at::kCUDA, 0);

c10::Stream NewStream() {
  return c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(kGpu);
}

// What one stream reads of what another one makes; `told`: after an event.
double ReadAcross(bool told) {
  const c10::Stream makes = NewStream();
  const c10::Stream reads = NewStream();
  c10::Event made(at::kCUDA);
  at::Tensor tensor;
  {
    const c10::StreamGuard guard(makes);
    tensor = at::full({4}, 1.0, kGpu);
    makes.synchronize();
    tensor.add_(1);
    made.record(makes);
  }
  const c10::StreamGuard guard(reads);
  if (told) made.block(reads);
  return (tensor * 1).sum().item<double>();
}

TEST(SoftGpuTest, StreamsOvertakeEachOtherUnlessAnEventForbidsIt) {
  int early = 0;
  for (int i = 0; i < kTries; ++i) {
    EXPECT_EQ(ReadAcross(/*told=*/true), 8);
    early += ReadAcross(/*told=*/false) != 8 ? 1 : 0;
  }
  EXPECT_GT(early, 0);
}

// What another stream still reads of memory that its owner has given back.
double ReadFreed(bool told) {
  const c10::Stream owner = NewStream();
  const c10::Stream reader = NewStream();
  c10::Event made(at::kCUDA);
  at::Tensor tensor;
  {
    const c10::StreamGuard guard(owner);
    tensor = at::full({4}, 2.0, kGpu);
    made.record(owner);
  }
  const c10::StreamGuard guard(reader);
  made.block(reader);
  const at::Tensor sum = (tensor * 1).sum();
  if (told) tensor.record_stream(reader);
  tensor = at::Tensor();
  return sum.item<double>();
}

TEST(SoftGpuTest, MemoryThatWasFreedIsAnothersUnlessItsReadersAreKnown) {
  int spoiled = 0;
  for (int i = 0; i < kTries; ++i) {
    EXPECT_EQ(ReadFreed(/*told=*/true), 8);
    spoiled += ReadFreed(/*told=*/false) != 8 ? 1 : 0;
  }
  EXPECT_GT(spoiled, 0);
}

TEST(SoftGpuTest, BackwardsAreDoneInTheStreamOfTheirForwards) {
  EXPECT_EQ(at::accelerator::getAccelerator(), at::kCUDA);
  const at::Tensor on_cpu = at::randn({8}).requires_grad_(true);
  torch::autograd::backward({(on_cpu * on_cpu).sum()}, {});
  for (int i = 0; i < kTries; ++i) {
    const c10::StreamGuard guard(NewStream());
    const at::Tensor leaf = on_cpu.detach().to(kGpu).requires_grad_(true);
    torch::autograd::backward({(leaf * leaf).sum()}, {});
    EXPECT_TRUE(at::equal(leaf.grad().cpu(), on_cpu.grad()));
  }
}

class CapturedSteps : public ::testing::TestWithParam<pipeline::OptimizerOptions::Kind> {};

// A step that is captured once and done again and again equals steps made one by one: also after
// the learning rate has changed, and where one is refused.
TEST_P(CapturedSteps, AreThoseMadeOneByOne) {
  constexpr int kSteps = 200;
  std::vector<at::Tensor> made;
  for (const bool captured : {false, true}) {
    const c10::StreamGuard guard(NewStream());
    at::manual_seed(1);
    const at::Tensor parameter = at::randn({7}).to(kGpu).requires_grad_(true);
    parameter.mutable_grad() = at::zeros({7}, kGpu);
    const auto optimizer = pipeline::MakeOptimizer(
        {.kind = GetParam(), .learning_rate = 0.01, .weight_decay = 0.01}, {parameter});
    std::shared_ptr<const Recording> recording;
    const std::int64_t stream = CurrentStream(0);
    if (captured) {
      Streams::Get().BeginRecording(stream);
      optimizer->StepOnDevice();
      recording = Streams::Get().EndRecording(stream);
    }
    for (int i = 0; i < kSteps; ++i) {
      if (i == kSteps / 2) optimizer->set_learning_rate(1e-3);
      at::Tensor gradient = at::randn({7});
      if (i == kSteps / 3) gradient[2] = std::numeric_limits<float>::infinity();
      parameter.mutable_grad().copy_(gradient);
      optimizer->PrepareOnDevice();
      if (captured) {
        Streams::Get().Replay(stream, recording);
      } else {
        optimizer->StepOnDevice();
      }
    }
    EXPECT_EQ(optimizer->state().counts.skipped, 1);
    EXPECT_EQ(optimizer->state().counts.updates, kSteps - 1);
    made.push_back(parameter.detach().cpu());
  }
  EXPECT_TRUE(at::equal(made[0], made[1])) << made[0] << made[1];
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, CapturedSteps,
                         ::testing::ValuesIn(pipeline::AllOptimizerKinds()));

// Captured steps have the options of their capture, so others must be captured.
TEST(CapturedStagesTest, OtherOptionsOfTheOptimizerAreCaptured) {
  const std::vector<at::Tensor> inputs = pipeline::SmallInputs(40);
  const pipeline::OptimizerOptions after = {.weight_decay = 0.1, .clip_update = 0};
  std::vector<pipeline::Outcome> outcomes;
  for (const bool captures : {false, true}) {
    pipeline::SmallRun run{.schedule = "one_f_one_b_star", .stages = 3};
    run.devices = {kGpu};
    run.captures = captures;
    outcomes.push_back(pipeline::InTheEngineChangingTo(after, 20, run, inputs));
    if (captures) {
      EXPECT_THAT(outcomes.back().why_not_captured, testing::Each(""));
    }
    const pipeline::Outcome unchanged = pipeline::InTheEngine(run, inputs);
    EXPECT_FALSE(at::equal(outcomes.back().parameters[0], unchanged.parameters[0]));
  }
  outcomes[0].why_not_captured = outcomes[1].why_not_captured;
  pipeline::ExpectEqual(outcomes[0], outcomes[1]);
}

// What a host puts into streams for a sample, after the first ones.
double PutsForASample(const std::string& schedule, bool captures) {
  constexpr int kShort = 40;
  constexpr int kLong = 80;
  const auto puts = [&](int samples) {
    const std::int64_t before = Streams::Get().puts();
    pipeline::SmallRun run{.schedule = schedule, .stages = 3};
    run.optimizer.kind = pipeline::OptimizerOptions::Kind::kAdam;
    run.devices = {kGpu};
    run.captures = captures;
    const std::vector<at::Tensor> inputs = pipeline::SmallInputs(samples);
    static_cast<void>(pipeline::InTheEngine(run, inputs));
    return Streams::Get().puts() - before;
  };
  return static_cast<double>(puts(kLong) - puts(kShort)) / (kLong - kShort);
}

// For each of the three stages three graphs, three rates and what joins them: waits for events, and
// copies of the camera's tensor for the first and the last.
TEST(CapturedStagesTest, ASampleCostsAsManyLaunchesAsThereAreOperations) {
  for (const std::string& schedule : pipeline::ScheduleNames()) {
    const double captured = PutsForASample(schedule, true);
    const double one_by_one = PutsForASample(schedule, false);
    EXPECT_LE(captured, 32) << schedule;
    EXPECT_GE(one_by_one, 4 * captured) << schedule;
  }
}

}  // namespace
}  // namespace millrace::soft_gpu
