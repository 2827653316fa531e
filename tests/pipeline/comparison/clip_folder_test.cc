#include "pipeline/comparison/clip_folder.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/video/tracking.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/pipeline/evaluation/made_clip.h"
#include "tests/pipeline/evaluation/png_head.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWidth = 8;
constexpr int kHeight = 6;

class ImageFolderTest : public ::testing::Test {
 protected:
  ImageFolderTest() {
    for (const char* name : {"pictures", "truth", "hidden"}) fs::create_directory(root_ / name);
  }

  // One colour all over: red says which picture it is.
  void Draw(const std::string& name, int red, int width = kWidth, int height = kHeight) const {
    const cv::Mat picture(height, width, CV_8UC3, cv::Scalar(30, 20, red));
    ASSERT_TRUE(cv::imwrite(root_ / name, picture));
  }
  void DrawStream(int pictures) const {
    for (int i = 0; i < pictures; ++i) Draw("pictures/" + std::to_string(100 + i) + ".png", i);
  }
  void WriteTruth(const std::string& name, float dx) const {
    std::vector<float> flow = ConstantFlow(4, 3, dx, 0);
    ASSERT_TRUE(cv::writeOpticalFlow(root_ / name, cv::Mat(3, 4, CV_32FC2, flow.data())));
  }

  [[nodiscard]] ImageFolderOptions Options() const {
    return {.pictures = root_ / "pictures",
            .width = kWidth,
            .height = kHeight,
            .frames_per_second = 10};
  }

  static std::vector<ClipPair> ReadAll(const ImageFolderOptions& options) {
    const auto source = ImageFolder(options);
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? ReadAll(*source) : std::vector<ClipPair>();
  }
  static std::vector<ClipPair> ReadAll(const ClipSource& source) {
    std::vector<ClipPair> pairs;
    const auto clip = source.open();
    EXPECT_TRUE(clip.ok()) << clip.status();
    for (;;) {
      auto pair = (*clip)->Next();
      EXPECT_TRUE(pair.ok()) << pair.status();
      if (!pair.ok() || !pair->has_value()) return pairs;
      pairs.push_back(**std::move(pair));
    }
  }
  static void ExpectRefused(const ImageFolderOptions& options, const char* says,
                            const char* also = "") {
    const absl::Status status = ImageFolder(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(says), HasSubstr(also)));
  }
  // What reading says, where opening has nothing to say.
  static absl::Status ReadingFails(const ImageFolderOptions& options) {
    const auto source = ImageFolder(options);
    EXPECT_TRUE(source.ok()) << source.status();
    const auto clip = source->open();
    EXPECT_TRUE(clip.ok()) << clip.status();
    for (;;) {
      const auto pair = (*clip)->Next();
      if (!pair.ok()) return pair.status();
      if (!pair->has_value()) return absl::OkStatus();
    }
  }

  const TemporaryFolder root_;
};

TEST_F(ImageFolderTest, PicturesAreTheStreamByName) {
  for (const auto& [name, red] : {std::pair("c.bmp", 30), std::pair("a.png", 10),
                                  std::pair("b.PPM", 20), std::pair("d.png", 40)}) {
    Draw(std::string("pictures/") + name, red);
  }
  (void)root_.Write("pictures/notes.txt", "not a picture");
  fs::create_directory(root_ / "pictures/older.png");
  const std::vector<ClipPair> pairs = ReadAll(Options());
  ASSERT_EQ(pairs.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pairs[i].number, i);
    EXPECT_EQ(pairs[i].stream_time, std::chrono::milliseconds(100) * (i + 1));
    EXPECT_EQ(pairs[i].previous->at(0), 10 * (i + 1)) << "red comes first";
    EXPECT_EQ(pairs[i].current->at(0), 10 * (i + 2));
    EXPECT_EQ(pairs[i].current->at(1), 20);
    EXPECT_EQ(pairs[i].current->at(2), 30);
    EXPECT_EQ(pairs[i].current->size(), std::size_t{3} * kWidth * kHeight);
    EXPECT_EQ(pairs[i].truth, nullptr);
    if (i > 0) {
      EXPECT_EQ(pairs[i].previous, pairs[i - 1].current) << "shared";
    }
  }
}

TEST_F(ImageFolderTest, ItIsNamedAsItsFolder) {
  DrawStream(2);
  ImageFolderOptions options = Options();
  EXPECT_EQ(ImageFolder(options)->name, "pictures");
  EXPECT_EQ(ImageFolder(options)->width, kWidth);
  EXPECT_EQ(ImageFolder(options)->height, kHeight);
  options.pictures += "/";
  EXPECT_FALSE(ImageFolder(options)->name.empty());
}

TEST_F(ImageFolderTest, ItIsTheSameEachTimeItIsOpened) {
  DrawStream(4);
  const auto source = ImageFolder(Options());
  ASSERT_TRUE(source.ok());
  const std::vector<ClipPair> once = ReadAll(*source);
  const std::vector<ClipPair> again = ReadAll(*source);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(*once[i].current, *again[i].current);
}

TEST_F(ImageFolderTest, PicturesOfOtherSizesAreScaled) {
  Draw("pictures/1.png", 100, 3, 50);
  Draw("pictures/2.png", 200, 640, 480);
  const std::vector<ClipPair> pairs = ReadAll(Options());
  ASSERT_EQ(pairs.size(), 1u);
  ASSERT_EQ(pairs[0].previous->size(), std::size_t{3} * kWidth * kHeight);
  ASSERT_EQ(pairs[0].current->size(), std::size_t{3} * kWidth * kHeight);
  for (std::size_t i = 0; i < pairs[0].current->size(); i += 3) {
    EXPECT_EQ(pairs[0].previous->at(i), 100);
    EXPECT_EQ(pairs[0].current->at(i), 200);
  }
}

TEST_F(ImageFolderTest, TrueMotionGoesByCount) {
  DrawStream(4);
  for (int i = 0; i < 3; ++i) {
    WriteTruth("truth/flow" + std::to_string(i) + ".flo", static_cast<float>(i));
  }
  ImageFolderOptions options = Options();
  options.truth = root_ / "truth";
  const std::vector<ClipPair> pairs = ReadAll(options);
  ASSERT_EQ(pairs.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(pairs[i].truth, nullptr);
    EXPECT_EQ(pairs[i].truth->width, 4) << "its own size";
    EXPECT_EQ(pairs[i].truth->flow.front(), i);
    EXPECT_TRUE(pairs[i].truth->visible.empty());
  }
}

TEST_F(ImageFolderTest, TrueMotionGoesByTheNameOfAPairsFirstPicture) {
  DrawStream(4);
  WriteTruth("truth/102.flo", 2);
  WriteTruth("truth/100.flo", 0);
  ImageFolderOptions options = Options();
  options.truth = root_ / "truth";
  const std::vector<ClipPair> pairs = ReadAll(options);
  ASSERT_EQ(pairs.size(), 3u);
  ASSERT_NE(pairs[0].truth, nullptr);
  EXPECT_EQ(pairs[0].truth->flow.front(), 0);
  EXPECT_EQ(pairs[1].truth, nullptr) << "nobody knows";
  ASSERT_NE(pairs[2].truth, nullptr);
  EXPECT_EQ(pairs[2].truth->flow.front(), 2);
}

TEST_F(ImageFolderTest, WhatGetsHiddenIsNotBlack) {
  DrawStream(2);
  WriteTruth("truth/100.flo", 1);
  cv::Mat mask(3, 4, CV_8UC1, cv::Scalar(0));
  mask.at<std::uint8_t>(1, 2) = 255;
  ASSERT_TRUE(cv::imwrite(root_ / "hidden/100.png", mask));
  ImageFolderOptions options = Options();
  options.truth = root_ / "truth";
  options.hidden = root_ / "hidden";
  const std::vector<ClipPair> pairs = ReadAll(options);
  ASSERT_EQ(pairs.size(), 1u);
  const std::vector<std::uint8_t>& visible = pairs[0].truth->visible;
  ASSERT_EQ(visible.size(), 12u);
  for (std::size_t i = 0; i < visible.size(); ++i) EXPECT_EQ(visible[i], i == 6 ? 0 : 1) << i;

  Draw("hidden/100.png", 255);
  EXPECT_THAT(std::string(ReadingFails(options).message()),
              AllOf(HasSubstr("hidden/100.png is 8x6"), HasSubstr("is 4x3")));
}

TEST_F(ImageFolderTest, HiddenSaysNothingWithoutTruth) {
  DrawStream(2);
  ImageFolderOptions options = Options();
  options.hidden = root_ / "hidden";
  ExpectRefused(options, "hidden", "beside the true motion");
}

TEST_F(ImageFolderTest, AFolderThatIsNotThereIsNotFound) {
  DrawStream(2);
  ImageFolderOptions options = Options();
  options.truth = root_ / "nowhere";
  EXPECT_EQ(ImageFolder(options).status().code(), absl::StatusCode::kNotFound);
  options.pictures = root_ / "nowhere";
  const absl::Status status = ImageFolder(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere"));
}

TEST_F(ImageFolderTest, MotionNeedsTwoPictures) {
  ExpectRefused(Options(), "has 0 pictures", "two at least");
  DrawStream(1);
  ExpectRefused(Options(), "has 1 pictures", "two at least");
}

TEST_F(ImageFolderTest, TruthThatCannotBeAssignedIsRefusedAtOnce) {
  DrawStream(4);
  ImageFolderOptions options = Options();
  options.truth = root_ / "truth";
  ExpectRefused(options, "has 0 files for 3 pairs");
  WriteTruth("truth/a.flo", 1);
  WriteTruth("truth/b.flo", 1);
  ExpectRefused(options, "has 2 files for 3 pairs", "one for each pair");
}

TEST_F(ImageFolderTest, AFileThatCannotBeReadIsNamed) {
  DrawStream(3);
  ImageFolderOptions options = Options();
  for (const std::string& bytes :
       {std::string(), std::string("no picture at all"), PngHead(0x7FFFFFFF, 0x7FFFFFFF)}) {
    (void)root_.Write("pictures/101.png", bytes);
    const absl::Status status = ReadingFails(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("101.png"));
  }
  DrawStream(3);
  options.truth = root_ / "truth";
  (void)root_.Write("truth/101.flo", "no flow");
  EXPECT_THAT(std::string(ReadingFails(options).message()), HasSubstr("101.flo"));
}

}  // namespace
}  // namespace millrace::pipeline
