#include "pipeline/device/stage_devices.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "pipeline/device/cuda_libraries.h"
#include "pipeline/device/device_choice.h"
#include "pipeline/device/device_graphs.h"
#include "pipeline/driver/cuda_driver.h"
#include "pipeline/ops/cuda/launcher.h"

namespace millrace::pipeline {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StageDevicesTest, NoNameIsTheCpu) {
  EXPECT_THAT(*FindDevices({}), ElementsAre(at::Device(at::kCPU)));
  EXPECT_THAT(*FindDevices({"cpu", "cpu"}),
              ElementsAre(at::Device(at::kCPU), at::Device(at::kCPU)));
}

TEST(StageDevicesTest, ABadNameSaysWhichThereAre) {
  for (const char* name :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:128", "cuda:256", "CPU"}) {
    const absl::Status status = FindDevices({"cpu", name}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("use cpu, cuda, or cuda:N"));
  }
}

TEST(StageDevicesTest, WithoutADriverACudaDeviceIsRefusedWithTheReason) {
  if (FindCudaDriver().ok()) GTEST_SKIP() << "this machine has a GPU";
  const absl::Status status = FindDevices({"cuda:0"}).status();
  EXPECT_EQ(status, FindCudaDriver().status());
  EXPECT_EQ(LoadCuda(), status);
}

// As far as one gets without LibTorch's part for CUDA: the libraries are found, and are some.
TEST(StageDevicesTest, OurPartsForCudaAreLookedForBesideTheProgram) {
  if (FindCudaDriver().ok()) GTEST_SKIP() << "this machine has a GPU";
  LoadCudaLibraries();
  const at::Device gpu(at::kCUDA, 0);
  const absl::Status status = NewGraphPool(gpu).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("undefined symbol"));
  EXPECT_THAT(gpu::WhyNoKernels(gpu),
              AnyOf(HasSubstr("undefined symbol"), HasSubstr("was built without")));
}

TEST(StageDevicesTest, WhatIsThereIsTheSameTensor) {
  const at::Tensor tensor = at::ones({2});
  EXPECT_TRUE(ToDevice(tensor, at::kCPU).is_same(tensor));
}

TEST(DeviceChoiceTest, AutoTakesTheCpuWhereThereIsNoGpuAndSaysWhy) {
  if (FindCudaDriver().ok()) GTEST_SKIP() << "there is a GPU";
  const absl::StatusOr<DeviceChoice> choice = ChooseDevices({"auto"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->names, ElementsAre("cpu"));
  EXPECT_EQ(choice->where,
            absl::StrCat("the CPU, as ", std::string(FindCudaDriver().status().message())));
}

TEST(DeviceChoiceTest, WhatIsNamedIsTakenOrRefused) {
  EXPECT_EQ(ChooseDevices({})->where, "") << "nothing was asked for";
  EXPECT_EQ(ChooseDevices({"cpu"})->where, "");
  EXPECT_EQ(ChooseDevices({"cpu", "cpu"})->where, "");
  EXPECT_EQ(ChooseDevices({"cpu", "auto"}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millrace::pipeline
