// Measurements on a GPU, and the choice of a GPU.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "pipeline/device/device_choice.h"
#include "pipeline/device/device_time.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/offline/bench.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/stages/profile_layers.h"
#include "tests/pipeline/gpu/gpu_tests.h"
#include "tests/pipeline/support/small_chain.h"

namespace millrace::pipeline {
namespace {

// Where it was built with them; gpu-check takes a skipped test for a failure.
TEST_F(GpuTest, KernelsOfOurOwnAreThere) {
  const std::string why = gpu::WhyNoKernels(kGpu);
  if (!why.empty()) GTEST_SKIP() << why;
  constexpr std::int64_t kTooMany = std::int64_t{1} << 31;
  EXPECT_TRUE(gpu::HasKernels(kGpu, kTooMany - 1));
  EXPECT_FALSE(gpu::HasKernels(kGpu, kTooMany)) << "they count with 32 bits";
  const gpu::WithoutKernels without;
  EXPECT_FALSE(gpu::HasKernels(kGpu));
}

// In several streams.
TEST_F(GpuTest, AGpuIsBusyWhileItHasWork) {
  const at::Tensor numbers = at::randn({256, 256}).to(kGpu);
  AwaitStream(kGpu);
  GpuTimes times(kGpu);
  for (const c10::Stream& stream : {CopyStreams({kGpu}).front(), CopyStreams({kGpu}).front()}) {
    const c10::StreamGuard guard(stream);
    times.Note([&] { static_cast<void>(numbers.mm(numbers)); });
  }
  const std::vector<GpuTimes::Span> busy = times.Busy();
  ASSERT_FALSE(busy.empty());
  for (const GpuTimes::Span& span : busy) EXPECT_GT(span.end, span.begin);
  EXPECT_TRUE(times.Busy().empty()) << "it has been told";
  EXPECT_GT(MillisecondsOf(kGpu, [&] { static_cast<void>(numbers.mm(numbers)); }), 0);
}

TEST_F(GpuTest, AGpuThatIsNotThereIsRefused) {
  const absl::Status status = FindDevices({"cpu", "cuda:100"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
}

// What `millrace bench --device cuda` measures.
TEST_F(GpuTest, ABenchmarkHoldsKernelByKernelAgainstGraphs) {
  const auto rows = RunBench({.networks = {"conv", "flow", "resnet50"},
                              .schedules = {"one_f_one_b_star"},
                              .stages = {2},
                              .network = {.layers = 4, .channels = 4, .height = 16, .width = 32},
                              .samples = 4,
                              .turns = 2,
                              .device = "cuda:0"},
                             [](const std::string&) {});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 9U);
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const BenchRow& row = (*rows)[i];
    EXPECT_EQ(row.schedule, i % 3 == 0 ? "LibTorch" : "one_f_one_b_star");
    EXPECT_EQ(row.captures, i % 3 == 2);
    for (const BenchTurn& turn : row.turns) {
      EXPECT_GT(turn.samples_per_second, 0);
      EXPECT_GT(turn.gpu_bytes.value_or(0), 0);
      EXPECT_EQ(turn.idle.has_value(), row.captures);
      EXPECT_TRUE(turn.idle.value_or(0) >= 0 && turn.idle.value_or(0) < 1) << *turn.idle;
    }
  }
}

// What a plan is made by: the layers of a network are as large on a GPU as on the CPU.
TEST_F(GpuTest, LayersAreMeasuredOnAGpuToo) {
  const at::Tensor input = SmallInputs(1)[0];
  const auto measured_on = [&](at::Device device) {
    return ProfileLayers(SmallChain(), input,
                         [](const at::Tensor& output) { return output.square().mean(); },
                         {.device = device})
        .layers;
  };
  const std::vector<LayerProfile> on_gpu = measured_on(kGpu);
  const std::vector<LayerProfile> on_cpu = measured_on(at::kCPU);
  for (std::size_t i = 0; i < on_cpu.size(); ++i) {
    EXPECT_EQ(on_gpu[i].weight_bytes, on_cpu[i].weight_bytes) << i;
    EXPECT_EQ(on_gpu[i].output_bytes, on_cpu[i].output_bytes) << i;
    // A GPU's allocator gives memory in pieces.
    EXPECT_GE(on_gpu[i].activation_bytes, on_cpu[i].activation_bytes) << i;
    EXPECT_GT(on_gpu[i].cost.forward, 0) << i;
    EXPECT_GT(on_gpu[i].cost.backward, 0) << i;
  }
}

TEST_F(GpuTest, AutoTakesTheFirstGpu) {
  const absl::StatusOr<DeviceChoice> choice = ChooseDevices({"auto"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->names, std::vector<std::string>{"cuda:0"});
  EXPECT_TRUE(choice->where.starts_with("cuda:0")) << choice->where;
}

}  // namespace
}  // namespace millrace::pipeline
