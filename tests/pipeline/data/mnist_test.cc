#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/data/formats.h"
#include "tests/pipeline/data/made_files.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

class MnistTest : public MadeFiles {
 protected:
  void ExpectRefused(const std::string& images, const std::string& labels,
                     const std::string& message) const {
    const auto read = ReadMnist(Write("i", images), Write("l", labels));
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(message));
  }
};

TEST_F(MnistTest, ReadsImagesAndLabelsRawOrCompressed) {
  const std::string labels(IdxLabels(std::string{7, 0}));
  const auto raw = ReadMnist(Write("i", IdxImages(2)), Write("l", labels));
  const auto compressed =
      ReadMnist(WriteCompressed("i.gz", IdxImages(2)), WriteCompressed("l.gz", labels));
  for (const auto* read : {&raw, &compressed}) {
    ASSERT_TRUE(read->ok()) << read->status();
    EXPECT_THAT((*read)->shape, ElementsAre(1, 2, 3));
    EXPECT_THAT((*read)->labels, ElementsAre(7, 0));
    EXPECT_EQ((*read)->classes, 10);
    EXPECT_THAT((*read)->values(1),
                ElementsAre(FloatEq(6 / 255.F), FloatEq(7 / 255.F), FloatEq(8 / 255.F),
                            FloatEq(9 / 255.F), FloatEq(10 / 255.F), FloatEq(11 / 255.F)));
  }
}

TEST_F(MnistTest, WrongMagicIsNamed) {
  ExpectRefused(IdxLabels("abc"), IdxLabels("abc"), "it begins with 00000801 where 00000803");
  ExpectRefused(IdxImages(1), IdxImages(1), "no idx file of labels");
}

TEST_F(MnistTest, FilesThatAreCutShortOrTooLongAreRefused) {
  const std::string images = IdxImages(2);
  ExpectRefused("", IdxLabels(std::string(2, 1)), "cut short within its head");
  ExpectRefused(images.substr(0, 10), IdxLabels(std::string(2, 1)), "cut short within its head");
  ExpectRefused(images.substr(0, images.size() - 1), IdxLabels(std::string(2, 1)), "11 bytes");
  ExpectRefused(images + "x", IdxLabels(std::string(2, 1)), "cut short or damaged");
  ExpectRefused(
      BigEndian(0x803) + BigEndian(0xFFFFFFFF) + BigEndian(0xFFFFFF) + BigEndian(0xFFFFFF) + "x",
      IdxLabels("x"), "cut short or damaged");
}

TEST_F(MnistTest, NoFileThatIsCutShortAnywhereIsTaken) {
  const std::string images = IdxImages(3);
  const std::string labels = IdxLabels(std::string(3, 1));
  for (std::size_t length = 0; length < images.size(); ++length) {
    ExpectRefused(images.substr(0, length), labels, "cut short");
  }
  for (std::size_t length = 0; length < labels.size(); ++length) {
    ExpectRefused(images, labels.substr(0, length), "cut short");
  }
}

TEST_F(MnistTest, CompressedFileThatIsCutShortIsRefused) {
  const std::string whole = WriteCompressed("i.gz", IdxImages(200));
  std::filesystem::resize_file(whole, std::filesystem::file_size(whole) / 2);
  const auto read = ReadMnist(whole, Write("l", IdxLabels("x")));
  EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("cannot be read"));
}

TEST_F(MnistTest, CountsThatDifferAndLabelsOutOfRangeAreRefused) {
  ExpectRefused(IdxImages(2), IdxLabels(std::string(3, 1)), "2 images");
  ExpectRefused(IdxImages(2), IdxLabels(std::string{1, 10}), "a label 10 (of image 1)");
}

}  // namespace
}  // namespace millrace::pipeline
