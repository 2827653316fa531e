#include "service/terminal/cli_exit_codes.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/error_reason.h"

namespace millrace::service {
namespace {

TEST(ExitCodesTest, SayWhoseFaultItWas) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("a camera, say")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::AbortedError("a GPU")), 3);
}

TEST(ExitCodesTest, WhatIsFullWithoutAGpuIsNoneOfItsFailures) {
  EXPECT_EQ(ExitCodeOf(absl::ErrnoToStatus(ENOSPC, "summary.json")), 1);
  EXPECT_EQ(ExitCodeOf(absl::ErrnoToStatus(EMFILE, "summary.json")), 1);
  EXPECT_EQ(ExitCodeOf(WithReason("DEVICE_BUDGET_EXCEEDED", {{"device", "cpu"}},
                                  absl::ResourceExhaustedError("2 cores are needed"))),
            1);
}

}  // namespace
}  // namespace millrace::service
