#include "service/rpc/caught.h"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/statusor.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

TEST(CaughtTest, WhatIsReturnedIsPassedOn) {
  EXPECT_EQ(*Caught([]() -> absl::StatusOr<int> { return 7; }), 7);
  EXPECT_TRUE(absl::IsNotFound(Caught([] { return absl::NotFoundError("no gate"); })));
}

TEST(CaughtTest, WhatIsThrownIsAnInternalErrorWithItsText) {
  const absl::Status status = Caught([]() -> absl::StatusOr<int> {
                                throw std::runtime_error("the table is gone");
                              }).status();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the table is gone"));
}

TEST(CaughtTest, SoIsWhatIsNoException) {
  EXPECT_TRUE(absl::IsInternal(Caught([]() -> absl::Status { throw 7; })));
}

}  // namespace
}  // namespace millrace::service
