#include "base/check.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(CheckTest, PassesWhatHolds) {
  int evaluations = 0;
  MILLRACE_CHECK(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(CheckDeathTest, SaysWhereAndWhatWasViolated) {
  const int slots = 0;
  EXPECT_DEATH(MILLRACE_CHECK(slots > 0), "check_test.cc:.*a bug in millrace.*slots > 0");
}

}  // namespace
}  // namespace millrace
