#include "service/terminal/text_table.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

TEST(TextTableTest, NumbersStandToTheRightAndTextsToTheLeft) {
  TextTable table({"name", "ms", "layers"});
  table.Add({"a", "10", "0-9"});
  table.Add({"longer", "1.5", "10"});
  table.Add({"none", "-", "11"});
  EXPECT_EQ(table.Text(),
            "name     ms  layers\n"
            "a        10  0-9\n"
            "longer  1.5  10\n"
            "none      -  11\n");
}

TEST(TextTableTest, SignsAndDeviationsDoNotShiftAColumn) {
  TextTable table({"name", "gain"});
  table.Add({"a", "0.900 ±0.100"});
  table.Add({"b", "-1.250 ±0.100"});
  table.Add({"c", "1.000"});
  table.Add({"d", "-"});
  EXPECT_EQ(table.Text(),
            "name           gain\n"
            "a      0.900 ±0.100\n"
            "b     -1.250 ±0.100\n"
            "c             1.000\n"
            "d                 -\n");
}

TEST(TextTableTest, NumbersHaveThreeDigitsThatMatter) {
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(0.25), "0.25");
  EXPECT_EQ(NumberText(12.345), "12.3");
  EXPECT_EQ(NumberText(1534.2), "1534");
}

TEST(TextTableTest, BytesHaveTheUnitThatFits) {
  EXPECT_EQ(BytesText(0, 0), "0 B");
  EXPECT_EQ(BytesText(12.4e6, 12.4e6), "12.4 MB");
  EXPECT_EQ(BytesText(2e12, 2e12), "2 TB");
  EXPECT_EQ(BytesText(5e15, 5e15), "5000 TB");
  EXPECT_EQ(BytesText(800e3, 12.4e6), "0.8 MB") << "as what stands beside it";
}

}  // namespace
}  // namespace millrace::service
