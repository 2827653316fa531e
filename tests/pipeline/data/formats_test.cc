#include "pipeline/data/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/data/made_files.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

class FormatsTest : public MadeFiles {};

TEST_F(FormatsTest, NamesSayWhichDataSetItIs) {
  const std::string images = WriteCompressed("t10k-images-idx3-ubyte.gz", IdxImages(1));
  WriteCompressed("t10k-labels-idx1-ubyte.gz", IdxLabels(std::string{4}));
  const auto mnist = ReadDataSet({images});
  ASSERT_TRUE(mnist.ok()) << mnist.status();
  EXPECT_EQ(mnist->labels[0], 4);
  const std::string sample = '\2' + std::string(3072, 'x');
  const auto cifar = ReadDataSet({Write("a.bin", sample), Write("b.bin", sample)});
  ASSERT_TRUE(cifar.ok()) << cifar.status();
  EXPECT_EQ(cifar->count(), 2U);
  EXPECT_TRUE(absl::IsNotFound(ReadDataSet({Path("digits.csv.gz")}).status()));
}

TEST_F(FormatsTest, OtherNamesAreToldWhatIsKnown) {
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{}, {"x.png"}, {"a.csv", "b.csv"}, {"a.bin", "b.csv"}}) {
    const auto read = ReadDataSet(paths);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status()));
    EXPECT_THAT(std::string(read.status().message()),
                HasSubstr("one digits.csv.gz of scikit-learn"));
  }
}

}  // namespace
}  // namespace millrace::pipeline
