#include "pipeline/device/stage_devices.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "pipeline/device/cuda_libraries.h"
#include "pipeline/device/device_choice.h"
#include "pipeline/device/device_graphs.h"
#include "pipeline/device/one_thread.h"
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

TEST(StageDevicesTest, ThereIsOneDeviceOrOneForEachStage) {
  for (const std::size_t devices : {1, 3}) EXPECT_TRUE(CheckDeviceCount(devices, 3).ok());
  for (const std::size_t devices : {0, 2, 4}) {
    const absl::Status status = CheckDeviceCount(devices, 3);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("one for all, or one for each"));
  }
  const at::Device first(at::kCUDA, 0);
  const at::Device second(at::kCUDA, 1);
  EXPECT_EQ(DeviceOfStage({second}, 3), second);
  EXPECT_EQ(DeviceOfStage({first, second}, 1), first);
  EXPECT_EQ(DeviceOfStage({first, second}, 2), second);
}

TEST(StageDevicesTest, TheCpuIsNeverWaitedForNorCopiedBy) {
  AwaitStream(at::kCPU);
  EXPECT_TRUE(CopyStreams({at::kCPU, at::kCPU}).empty());
  const Tensors tensors = {at::ones({2}), at::ones({3})};
  const Tensors here = ToHost(tensors);
  ASSERT_EQ(here.size(), 2u);
  EXPECT_TRUE(here[0].is_same(tensors[0]) && here[1].is_same(tensors[1]));
}

TEST(StageDevicesTest, WhatIsPutIntoAParameterIsInvisibleToAutograd) {
  const at::Tensor parameter = at::zeros({2}).set_requires_grad(true);
  const auto version = parameter._version();
  CopyTo(parameter, at::ones({2}));
  EXPECT_TRUE(at::equal(parameter.detach(), at::ones({2})));
  EXPECT_TRUE(parameter.is_leaf());
  EXPECT_EQ(parameter._version(), version) << "a saved tensor would be refused";
}

TEST(OneThreadTest, TheThreadsOfBeforeAreThereAfterwards) {
  const int before = at::get_num_threads();
  {
    const OneThread one_thread;
    EXPECT_EQ(at::get_num_threads(), 1);
  }
  EXPECT_EQ(at::get_num_threads(), before);
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
