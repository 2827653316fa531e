#include "base/truncate.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

TEST(TruncateTest, AListNamesWhatItCanAndCountsTheRest) {
  EXPECT_EQ(ShortList({}), "");
  EXPECT_EQ(ShortList({"a", "b", "c"}), "a, b, c");
  std::vector<std::string> names(64, std::string(100, 'x'));
  const std::string list = ShortList(names);
  EXPECT_LT(list.size(), 600u);
  EXPECT_TRUE(list.ends_with(" and 60 more")) << list;
  EXPECT_EQ(ShortList({std::string(9000, 'x')}).size(), 9000u) << "one is always named";
}

TEST(TruncateTest, WhatFitsStaysAsItIs) {
  const std::string text(64, 'x');
  EXPECT_EQ(Truncated(text, 64), text);
  EXPECT_EQ(Truncated("", 64), "");
}

TEST(TruncateTest, WholeLinesStayAndTheOthersAreCounted) {
  std::string text = "line 0";
  for (int i = 1; i < 100; ++i) absl::StrAppend(&text, "\nline ", i);
  const std::string shown = Truncated(text, 120);
  EXPECT_LE(HeaderBytes(shown), 120u);
  EXPECT_TRUE(shown.starts_with("line 0\nline 1\n")) << shown;
  const std::size_t lines = std::count(shown.begin(), shown.end(), '\n');
  EXPECT_TRUE(
      shown.ends_with(absl::StrCat("\nline ", lines - 1, "\n... and ", 100 - lines, " more")))
      << shown;
}

TEST(TruncateTest, AnOverlongLineIsCutBetweenCharacters) {
  for (const std::string letter : {"x", "\u00e4", "\u732b", "\U0001F41F", "%"}) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += letter;
    const std::string shown = Truncated(text, 200);
    EXPECT_LE(HeaderBytes(shown), 200u);
    EXPECT_GT(HeaderBytes(shown), 140u);
    ASSERT_TRUE(shown.ends_with("..."));
    EXPECT_EQ((shown.size() - 3) % letter.size(), 0u) << "whole characters";
  }
}

}  // namespace
}  // namespace millrace::service
