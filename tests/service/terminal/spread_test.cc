#include "service/terminal/spread.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

TEST(SpreadTest, HasTheMedianAndTheEnds) {
  EXPECT_EQ(Text(SpreadOf({3, 1, 2}), 1), "2.0 (1.0 to 3.0)");
  EXPECT_EQ(Text(SpreadOf({4, 1, 2, 3}), 1), "2.5 (1.0 to 4.0)");
}

TEST(SpreadTest, RatioIsTakenTurnByTurn) {
  EXPECT_EQ(Text(RatioOf({2, 6, 8}, {1, 2, 2}), 2), "3.00 (2.00 to 4.00)");
}

}  // namespace
}  // namespace millrace::service
