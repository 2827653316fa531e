#include "pipeline/device/device_failure.h"

#include <stdexcept>
#include <string>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr c10::SourceLocation kHere = {"Launch", "launch.cc", 7};

TEST(DeviceFailureTest, FullMemoryIsSaidWithAdvice) {
  const absl::Status status =
      FailureOf(c10::OutOfMemoryError(kHere, "CUDA out of memory. Tried to allocate 2 GiB"));
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("the GPU's memory is full: take smaller pictures"),
                    HasSubstr("Tried to allocate 2 GiB")));
}

TEST(DeviceFailureTest, AGpuThatFailedIsSaidWithAdvice) {
  const absl::Status status =
      FailureOf(c10::AcceleratorError(kHere, 700, "CUDA error: an illegal memory access"));
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("the GPU has failed: start again"),
                                                   HasSubstr("an illegal memory access")));
}

TEST(DeviceFailureTest, AnyOtherFailureIsOursInOneLine) {
  const absl::Status status = FailureOf(std::runtime_error("sizes differ\nat stage 3"));
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_EQ(std::string(status.message()), "sizes differ");
  const absl::Status of_libtorch = FailureOf(c10::Error(kHere, "sizes differ"));
  EXPECT_TRUE(absl::IsInternal(of_libtorch));
  EXPECT_THAT(std::string(of_libtorch.message()),
              AllOf(HasSubstr("sizes differ"), Not(HasSubstr("launch.cc"))));
}

TEST(DeviceFailureTest, ATaskOfTheEngineFailsWithThatStatus) {
  EXPECT_EQ(RethrowAsStepError([] { return 7; }), 7);
  try {
    RethrowAsStepError([] { throw c10::OutOfMemoryError(kHere, "CUDA out of memory"); });
    FAIL() << "it threw nothing";
  } catch (const StepError& error) {
    EXPECT_EQ(error.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(error.what(), HasSubstr("the GPU's memory is full"));
  }
  try {
    RethrowAsStepError([] { throw StepError(absl::DataLossError("bits")); });
    FAIL() << "it threw nothing";
  } catch (const StepError& error) {
    EXPECT_EQ(error.code(), absl::StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace millrace::pipeline
