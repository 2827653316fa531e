#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace millrace {
namespace {

absl::StatusOr<std::unique_ptr<int>> Parse(const std::string& text) {
  if (text.empty()) return absl::InvalidArgumentError("nothing to parse");
  return std::make_unique<int>(std::stoi(text));
}

absl::StatusOr<int> Sum(const std::string& a, const std::string& b) {
  MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Parse(a));
  MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<int> second, Parse(b));
  return *first + *second;
}

absl::Status RunTwo(const absl::Status& first, const absl::Status& second, int& runs) {
  MILLRACE_RETURN_IF_ERROR(first);
  ++runs;
  MILLRACE_RETURN_IF_ERROR(second);
  ++runs;
  return absl::OkStatus();
}

TEST(StatusMacrosTest, AssignsValues) {
  const absl::StatusOr<int> sum = Sum("2", "3");
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(*sum, 5);
}

TEST(StatusMacrosTest, ReturnsTheFirstErrorOfAnAssignment) {
  EXPECT_EQ(Sum("2", "").status(), absl::InvalidArgumentError("nothing to parse"));
}

TEST(StatusMacrosTest, ReturnsAtTheFirstError) {
  int runs = 0;
  EXPECT_EQ(RunTwo(absl::OkStatus(), absl::AbortedError("second"), runs),
            absl::AbortedError("second"));
  EXPECT_EQ(runs, 1);
}

TEST(StatusMacrosTest, GoesOnWithoutAnError) {
  int runs = 0;
  EXPECT_TRUE(RunTwo(absl::OkStatus(), absl::OkStatus(), runs).ok());
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace millrace
