#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/data/formats.h"
#include "tests/pipeline/data/made_files.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

std::string Sample(char label, char pixel) { return label + std::string(3072, pixel); }

class Cifar10Test : public MadeFiles {
 protected:
  void ExpectRefused(const std::string& content, const std::string& message) const {
    const auto read = ReadCifar10({Write("bad.bin", content)});
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(message));
  }
};

TEST_F(Cifar10Test, ReadsBatchesOneAfterTheOther) {
  const auto read = ReadCifar10(
      {Write("a.bin", Sample(3, '\x33') + Sample(9, '\xff')), Write("b.bin", Sample(0, '\0'))});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->shape, ElementsAre(3, 32, 32));
  EXPECT_THAT(read->labels, ElementsAre(3, 9, 0));
  EXPECT_THAT(read->values(0), Each(FloatEq(0.2F)));
  EXPECT_THAT(read->values(1), Each(FloatEq(1)));
  EXPECT_THAT(read->values(2), Each(0));
}

TEST_F(Cifar10Test, WhatIsNoWholeNumberOfSamplesIsRefused) {
  ExpectRefused(Sample(1, 'x').substr(0, 3000), "no whole number of samples of 3073");
  ExpectRefused(Sample(1, 'x') + "y", "cut short");
  ExpectRefused("", "holds 0 bytes");
}

TEST_F(Cifar10Test, LabelOutOfRangeNamesTheSample) {
  ExpectRefused(Sample(1, 'x') + Sample(10, 'x'), "sample 1: its label is 10");
}

TEST_F(Cifar10Test, FileThatIsNotThereIsNamed) {
  const auto read = ReadCifar10({Path("none.bin")});
  EXPECT_TRUE(absl::IsNotFound(read.status()));
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("none.bin"));
}

}  // namespace
}  // namespace millrace::pipeline
