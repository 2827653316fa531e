#include "pipeline/device/device_memory.h"

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(DeviceMemoryTest, TheCpuHasNone) {
  ResetPeakBytes(at::kCPU);
  EXPECT_FALSE(PeakBytes(at::kCPU).has_value());
  LearnerDescription learner;
  learner.stages.resize(2);
  learner.stages[0].device = "cpu:0";
  learner.stages[1].device = "cpu";
  EXPECT_TRUE(GpuMemoryOf(learner).empty());
}

}  // namespace
}  // namespace millrace::pipeline
