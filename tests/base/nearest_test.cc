#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

TEST(NearestTest, IsTheNameOfFewestChanges) {
  const std::vector<std::string> known = {"serve", "watch", "check-config", "plan", "replay"};
  EXPECT_EQ(Nearest("serv", known), "serve");
  EXPECT_EQ(Nearest("sevre", known), "serve");
  EXPECT_EQ(Nearest("check_config", known), "check-config");
  EXPECT_EQ(Nearest("checkconf", known), "check-config");
  EXPECT_EQ(Nearest("play", known), "plan");
  EXPECT_EQ(Nearest("paln", known), "plan") << "two letters that were swapped";
  EXPECT_EQ(Nearest("plan", known), "plan");
}

TEST(NearestTest, IsNothingWhereNoneIsNear) {
  const std::vector<std::string> known = {"serve", "watch"};
  EXPECT_EQ(Nearest("dance", known), "");
  EXPECT_EQ(Nearest("save", known), "") << "a short word is soon another";
  EXPECT_EQ(Nearest("configuration", known), "");
  EXPECT_EQ(Nearest("serve", {}), "");
}

}  // namespace
}  // namespace millrace
