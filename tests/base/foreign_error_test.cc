#include "base/foreign_error.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ForeignErrorTest, TheCauseIsTheFirstLine) {
  EXPECT_EQ(CauseLine("sizes differ: 3 and 4\nframe #0: c10::Error::Error()"),
            "sizes differ: 3 and 4");
  EXPECT_EQ(CauseLine("sizes differ"), "sizes differ");
  EXPECT_EQ(CauseLine(""), "");
}

TEST(ForeignErrorTest, TheCauseOfATorchScriptErrorFollowsItsTraceback) {
  EXPECT_EQ(CauseLine("The following operation failed in the TorchScript interpreter.\n"
                      "Traceback of TorchScript (most recent call last):\n"
                      "RuntimeError: outer\nRuntimeError: sizes differ\n  ~~~~ <--- HERE"),
            "sizes differ");
}

TEST(ForeignErrorTest, IsConvertedToAStatusOfOneLine) {
  EXPECT_EQ(InternalCause("no memory\nframe #0"), absl::InternalError("no memory"));
  EXPECT_EQ(InvalidCause("no such size\nframe #0"), absl::InvalidArgumentError("no such size"));
}

}  // namespace
}  // namespace millrace
