#include "service/cli_exit_codes.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

TEST(ExitCodesTest, SayWhoseFaultItWas) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("a camera, say")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("a GPU's memory")), 3);
  EXPECT_EQ(ExitCodeOf(absl::AbortedError("a GPU")), 3);
}

}  // namespace
}  // namespace millrace::service
