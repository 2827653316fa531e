#include "service/terminal/cli_help.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

TEST(WrappedTest, BreaksBetweenWords) {
  EXPECT_EQ(Wrapped("a bb ccc dddd", 100), "a bb ccc dddd");
  EXPECT_EQ(Wrapped("a bb ccc dddd", 8), "a bb ccc\ndddd");
  EXPECT_EQ(Wrapped("a bb ccc dddd", 7), "a bb\nccc\ndddd");
  EXPECT_EQ(Wrapped("", 7), "");
}

TEST(WrappedTest, ALongWordHasALineOfItsOwn) {
  EXPECT_EQ(Wrapped("a one,two,three b", 5), "a\none,two,three\nb");
}

TEST(WrappedTest, LineEndsStay) { EXPECT_EQ(Wrapped("a bb\n\nccc dddd", 7), "a bb\n\nccc\ndddd"); }

TEST(WrappedParagraphsTest, LeavesExamplesAlone) {
  const char text[] = "\nAll of it is\none paragraph.\n\nExamples\n  millrace a very long example";
  EXPECT_EQ(WrappedParagraphs(text, 20),
            "\nAll of it is one\nparagraph.\n\nExamples\n  millrace a very long example");
  EXPECT_EQ(WrappedParagraphs(text, 100),
            "\nAll of it is one paragraph.\n\nExamples\n  millrace a very long example");
}

}  // namespace
}  // namespace millrace::service
