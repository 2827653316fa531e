#include "pipeline/device/device_graphs.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

const at::Device kGpu(at::kCUDA, 3);

struct FakePool final : GraphPool {
  explicit FakePool(at::Device its) : device(its) {}
  std::unique_ptr<DeviceGraph> Capture(absl::FunctionRef<void()> /*work*/) override {
    return nullptr;
  }
  const at::Device device;
};

TEST(DeviceGraphsTest, WhereNoModuleMakesPoolsTheReasonIsSaid) {
  SetGraphPools(absl::FailedPreconditionError("the module is of another version"));
  const absl::Status status = NewGraphPool(kGpu).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(std::string(status.message()), "the module is of another version");
}

TEST(DeviceGraphsTest, EachPoolIsMadeByTheModuleForItsGpu) {
  SetGraphPools([](at::Device device) -> GraphPool* { return new FakePool(device); });
  const auto one = NewGraphPool(kGpu);
  const auto other = NewGraphPool(kGpu);
  SetGraphPools(absl::FailedPreconditionError("there is none any more"));
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(*one, *other);
  EXPECT_EQ(dynamic_cast<const FakePool&>(**one).device, kGpu);
}

}  // namespace
}  // namespace millrace::pipeline
