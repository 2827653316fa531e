#include "service/frames/explained.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

TEST(ExplainedTest, SaysTheShareOfTheMotion) {
  struct Case {
    double loss;
    double loss_no_motion;
    std::string share;
    std::string text;
  };
  const std::vector<Case> cases = {
      {0.037, 0.05, "26 %", "explains 26 % of the motion"},
      {0, 0.05, "100 %", "explains 100 % of the motion"},
      {0.05, 0.05, "0 %", "explains 0 % of the motion"},
      {0.0502, 0.05, "0 %", "explains 0 % of the motion"},
      {0.0506, 0.05, "none", "explains none of the motion"},
      {5, 0.05, "none", "explains none of the motion"},
      {0.05, 0, "-", "explains -"},
      {0, 0, "-", "explains -"},
      {std::nan(""), 0.05, "-", "explains -"},
      {std::numeric_limits<double>::infinity(), 0.05, "-", "explains -"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(ExplainedShare(each.loss, each.loss_no_motion), each.share) << each.loss;
    EXPECT_EQ(ExplainedText(each.loss, each.loss_no_motion), each.text) << each.loss;
  }
}

}  // namespace
}  // namespace millrace::service
