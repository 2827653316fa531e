#include "pipeline/driver/cuda_driver.h"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

class FakeDriverTest : public ::testing::Test {
 protected:
  ~FakeDriverTest() override {
    for (const char* name :
         {"FAKE_CUDA_INIT", "FAKE_CUDA_VERSION", "FAKE_CUDA_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
      ::unsetenv(name);
    }
  }

  static absl::StatusOr<CudaDriver> Find() { return FindCudaDriver(MILLRACE_FAKE_CUDA_DRIVER); }
  static absl::Status FailureWith(const char* name, const char* value) {
    ::setenv(name, value, 1);
    return Find().status();
  }
};

TEST_F(FakeDriverTest, SaysWhatTheDriverSays) {
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->version, 13000);
  ASSERT_EQ(found->devices.size(), 2U);
  EXPECT_EQ(found->devices[0].name, "Fake One");
  EXPECT_EQ(found->devices[1].name, "Fake Two");
  EXPECT_EQ(found->devices[1].memory_bytes, std::int64_t{2} << 30);
  EXPECT_EQ(found->devices[1].architecture, 90);
}

TEST_F(FakeDriverTest, ADriverThatIsTooOldIsNamedWithWhatIsNeeded) {
  const absl::Status status = FailureWith("FAKE_CUDA_VERSION", "12040");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("serves CUDA 12.4 and LibTorch needs 13.0"));
}

TEST_F(FakeDriverTest, ADriverThatFailsIsQuoted) {
  const absl::Status status = FailureWith("FAKE_CUDA_INIT", "999");
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cuInit failed with error 999 (unknown error)"));
}

TEST_F(FakeDriverTest, WithoutADeviceItSaysWhatHidesThem) {
  ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  for (const auto& [name, value] :
       {std::pair("FAKE_CUDA_INIT", "100"), std::pair("FAKE_CUDA_DEVICES", "0")}) {
    ::unsetenv("FAKE_CUDA_INIT");
    const absl::Status status = FailureWith(name, value);
    EXPECT_TRUE(absl::IsNotFound(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("CUDA_VISIBLE_DEVICES is \"-1\""));
  }
}

TEST(CudaDriverTest, WithoutADriverItSaysSo) {
  const absl::Status status = FindCudaDriver("libno_such_driver.so").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no NVIDIA driver"));
}

TEST(CudaDriverTest, ALibraryThatIsNoDriverIsNamed) {
  const absl::Status status = FindCudaDriver("libz.so.1").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no cuInit"));
}

}  // namespace
}  // namespace millrace::pipeline
