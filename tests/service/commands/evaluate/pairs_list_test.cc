#include "service/commands/evaluate/pairs_list.h"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

class PairsListTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<ListedPairs>> Read(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadPairsList(path_, {.width = 192, .height = 144});
  }
  void ExpectRefused(const std::string& text, const std::string& says) {
    const absl::Status status = Read(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_ + says)) << text;
  }

  const std::string folder_ = ::testing::TempDir();
  const std::string path_ =
      folder_ + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
};

TEST_F(PairsListTest, PathsAreOfItsFolderOrAbsolute) {
  const auto list = Read("alley/pictures alley/flow\n/films/road/p ../truth 1024x432\n");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].pictures, folder_ + "alley/pictures");
  EXPECT_EQ((*list)[0].truth, folder_ + "alley/flow");
  EXPECT_EQ((*list)[0].size, (PictureSize{192, 144}));
  EXPECT_EQ((*list)[0].name, "alley/pictures 192x144");
  EXPECT_EQ((*list)[1].pictures, "/films/road/p");
  EXPECT_EQ((*list)[1].size, (PictureSize{1024, 432}));
  EXPECT_EQ((*list)[1].name, "/films/road/p 1024x432");
  EXPECT_EQ((*list)[1].place, path_ + ":2");
}

TEST_F(PairsListTest, ManyWaysToWriteALineAreTheSame) {
  for (const char* line :
       {"my film/p t 64x48", "\"my film/p\" t 64x48", "  \"my film/p\"\t\"t\"   \"64x48\"  ",
        "# films\n\n\"my film/p\" t 64x48 # small\n", "\"my film/p\" t 64x48\r\n"}) {
    const auto list = Read(line);
    if (std::string(line).starts_with("my")) {
      EXPECT_FALSE(list.ok()) << "without quotes there are four words";
      continue;
    }
    ASSERT_TRUE(list.ok()) << line << list.status();
    ASSERT_EQ(list->size(), 1u) << line;
    EXPECT_EQ(list->front().pictures, folder_ + "my film/p") << line;
    EXPECT_EQ(list->front().truth, folder_ + "t") << line;
    EXPECT_EQ(list->front().size, (PictureSize{64, 48})) << line;
  }
}

TEST_F(PairsListTest, WhatIsWrongIsNamedWithItsLine) {
  ExpectRefused("a b\nc\n", ":2: has 1 word; a line is PICTURES TRUTH [WIDTHxHEIGHT]");
  ExpectRefused("a b 64x48 d", ":1: has 4 words");
  ExpectRefused("a b 64", ":1: has '64' as its size");
  ExpectRefused("a b 64x", ":1: has '64x' as its size");
  ExpectRefused("a b 0x48", ":1: has '0x48' as its size");
  ExpectRefused("a b 64x48x3", ":1: has '64x48x3' as its size");
  ExpectRefused("\"a b", ":1: has a quote that does not end");
  ExpectRefused("", ": names no pictures");
  ExpectRefused("# nothing\n\n", ": names no pictures");
}

TEST_F(PairsListTest, AFileThatIsNotThereIsNamed) {
  const absl::Status status = ReadPairsList(folder_ + "nowhere.txt", {64, 48}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere.txt"));
}

}  // namespace
}  // namespace millrace::service
