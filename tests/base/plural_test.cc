#include "base/plural.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(PluralTest, OneIsNoPlural) {
  EXPECT_EQ(Plural(0, "stage"), "0 stages");
  EXPECT_EQ(Plural(1, "stage"), "1 stage");
  EXPECT_EQ(Plural(2, "stage"), "2 stages");
  EXPECT_EQ(Plural(1, "pass", "es"), "1 pass");
  EXPECT_EQ(Plural(2, "pass", "es"), "2 passes");
}

}  // namespace
}  // namespace millrace
