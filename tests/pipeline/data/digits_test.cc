#include <algorithm>
#include <array>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/data/formats.h"
#include "tests/pipeline/data/made_files.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Line(const std::string& number, const std::string& digit) {
  std::string line;
  for (int i = 0; i < 64; ++i) line += number + ",";
  return line + digit + "\n";
}

class DigitsTest : public MadeFiles {
 protected:
  void ExpectRefused(const std::string& content, const std::string& message) const {
    const auto read = ReadDigits(Write("bad.csv", content));
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(message));
  }
};

TEST_F(DigitsTest, ReadsLinesRawOrCompressed) {
  const std::string lines = Line("16", "3") + Line("4", "0");
  for (const std::string& path : {Write("d.csv", lines), WriteCompressed("d.csv.gz", lines)}) {
    const auto read = ReadDigits(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_THAT(read->shape, ElementsAre(1, 8, 8));
    EXPECT_THAT(read->labels, ElementsAre(3, 0));
    EXPECT_THAT(read->values(0), Each(1));
    EXPECT_THAT(read->values(1), Each(0.25));
  }
}

TEST_F(DigitsTest, WhatIsWrongIsNamedWithItsLine) {
  ExpectRefused("", "is empty");
  ExpectRefused(Line("1", "1") + "1,2,3\n", "line 2: it has 3 numbers");
  ExpectRefused(Line("17", "1"), "line 1: it has \"17\"; only 0 to 16");
  ExpectRefused(Line("1", "10"), "its digit is \"10\"; only 0 to 9");
  ExpectRefused(Line("1", "one"), "its digit is \"one\"");
}

// Facts of the data set, counted by hand with awk: 1,797 samples, and the samples of each digit.
TEST(RealDigitsTest, AreWhatTheyAreKnownToBe) {
  ASSERT_TRUE(std::filesystem::exists(MILLRACE_DIGITS)) << "tools/setup test fetches it";
  const auto digits = ReadDigits(MILLRACE_DIGITS);
  ASSERT_TRUE(digits.ok()) << digits.status();
  ASSERT_EQ(digits->count(), 1797U);
  std::array<int, 10> counts{};
  for (const int label : digits->labels) ++counts.at(label);
  EXPECT_THAT(counts, ElementsAre(178, 182, 177, 183, 181, 182, 181, 179, 174, 180));
  EXPECT_EQ(*std::max_element(digits->bytes.begin(), digits->bytes.end()), 16);
}

TEST_F(DigitsTest, SplitKeepsEverySampleOnceAndDependsOnItsSeed) {
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += Line(std::to_string(i % 17), std::to_string(i % 10));
  const auto all = ReadDigits(Write("d.csv", lines));
  ASSERT_TRUE(all.ok());
  const Split split = SplitSamples(*all, 0.3, 1);
  EXPECT_EQ(split.test.count(), 15U);
  EXPECT_EQ(split.train.count(), 35U);
  EXPECT_EQ(split.train.bytes.size(), 35U * 64);
  std::vector<int> labels = split.train.labels;
  labels.insert(labels.end(), split.test.labels.begin(), split.test.labels.end());
  EXPECT_TRUE(std::is_permutation(labels.begin(), labels.end(), all->labels.begin()));
  EXPECT_EQ(SplitSamples(*all, 0.3, 1).test.bytes, split.test.bytes);
  EXPECT_NE(SplitSamples(*all, 0.3, 2).test.bytes, split.test.bytes);
}

}  // namespace
}  // namespace millrace::pipeline
