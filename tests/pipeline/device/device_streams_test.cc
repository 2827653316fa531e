#include "pipeline/device/device_streams.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

const at::Device kCpu(at::kCPU);
const at::Device kFirst(at::kCUDA, 0);
const at::Device kSecond(at::kCUDA, 1);

// Stages 1 and 3 share a device.
Plan InterleavedPlan() {
  Plan plan = {.schedule = "interleaved", .stages = {}, .channels = {}, .devices = {}};
  plan.stages.resize(3);
  plan.devices = {{{.stage = 1}, {.stage = 3}}, {{.stage = 2}}};
  return plan;
}

TEST(DeviceStreamsTest, StagesOfADeviceShareAGpu) {
  const Plan plan = InterleavedPlan();
  EXPECT_TRUE(CheckStreams(plan, {kCpu}).ok());
  EXPECT_TRUE(CheckStreams(plan, {kFirst}).ok());
  EXPECT_TRUE(CheckStreams(plan, {kFirst, kSecond, kFirst}).ok());
  for (const at::Device other : {kSecond, kCpu}) {
    const absl::Status status = CheckStreams(plan, {kFirst, kSecond, other});
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("schedule interleaved has stages 1 and 3 share a device"));
  }
}

TEST(DeviceStreamsTest, ThereIsOneDeviceOrOneForEachStage) {
  const Plan plan = InterleavedPlan();
  EXPECT_TRUE(absl::IsInvalidArgument(CheckStreams(plan, {})));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckStreams(plan, {kFirst, kSecond})));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckStreams(plan, {kFirst, kFirst, kFirst, kFirst})));
}

}  // namespace
}  // namespace millrace::pipeline
