// Code that tests on a GPU share: they compare it with the CPU, to rounding, and skip themselves
// without a GPU.
#pragma once

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>

#include "pipeline/device/stage_devices.h"
#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {

inline const at::Device kGpu(at::kCUDA, 0);

// Loads CUDA before any call of LibTorch.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto devices = FindDevices({"cuda:0"});
    if (!devices.ok()) GTEST_SKIP() << devices.status().message();
  }
};

// Whether operations are captured.
class Captured : public GpuTest, public ::testing::WithParamInterface<bool> {};

inline ::testing::AssertionResult Near(const at::Tensor& on_gpu, const at::Tensor& on_cpu) {
  const at::Tensor here = on_gpu.cpu();
  if (at::allclose(here, on_cpu, /*rtol=*/2e-3, /*atol=*/2e-4)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "differs by up to " << (here - on_cpu).abs().max().item<double>() << " of "
         << on_cpu.abs().max().item<double>();
}

inline void ExpectNear(const Outcome& on_gpu, const Outcome& on_cpu) {
  EXPECT_EQ(on_gpu.updates, on_cpu.updates);
  ASSERT_EQ(on_gpu.outputs.size(), on_cpu.outputs.size());
  for (std::size_t i = 0; i < on_gpu.outputs.size(); ++i) {
    EXPECT_TRUE(Near(on_gpu.outputs[i], on_cpu.outputs[i])) << "output of sample " << i;
  }
  for (std::size_t i = 0; i < on_gpu.parameters.size(); ++i) {
    EXPECT_TRUE(Near(on_gpu.parameters[i], on_cpu.parameters[i])) << "parameter " << i;
  }
}

}  // namespace millrace::pipeline
