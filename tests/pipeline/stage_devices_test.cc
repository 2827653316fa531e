#include "pipeline/stage_devices.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/cuda_driver.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StageDevicesTest, NoNameIsTheCpu) {
  EXPECT_THAT(*DevicesNamed({}), ElementsAre(at::Device(at::kCPU)));
  EXPECT_THAT(*DevicesNamed({"cpu", "cpu"}),
              ElementsAre(at::Device(at::kCPU), at::Device(at::kCPU)));
}

TEST(StageDevicesTest, ABadNameSaysWhichThereAre) {
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"}) {
    const absl::Status status = DevicesNamed({"cpu", name}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("use cpu, cuda, or cuda:N"));
  }
}

TEST(StageDevicesTest, WithoutADriverACudaDeviceIsRefusedWithTheReason) {
  if (FindCudaDriver().ok()) GTEST_SKIP() << "this machine has a GPU";
  const absl::Status status = DevicesNamed({"cuda:0"}).status();
  EXPECT_EQ(status, FindCudaDriver().status());
  EXPECT_EQ(LoadCuda(), status);
}

TEST(StageDevicesTest, WhatIsThereIsTheSameTensor) {
  const at::Tensor tensor = at::ones({2});
  EXPECT_TRUE(Brought(tensor, at::kCPU).is_same(tensor));
}

}  // namespace
}  // namespace millrace::pipeline
