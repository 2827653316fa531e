#include "pipeline/comparison/flow_files.h"

#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/video/tracking.hpp>

#include "base/regular_file.h"
#include "tests/base/temporary_folder.h"
#include "tests/pipeline/evaluation/made_clip.h"
#include "tests/pipeline/evaluation/png_head.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kWidth = 5;
constexpr int kHeight = 3;

class FlowFilesTest : public ::testing::Test {
 protected:
  // A .flo file, as somebody else writes it.
  [[nodiscard]] std::string WriteFlo(const std::vector<float>& flow) const {
    const std::string path = folder_ / "motion.flo";
    const cv::Mat values(kHeight, kWidth, CV_32FC2, const_cast<float*>(flow.data()));
    EXPECT_TRUE(cv::writeOpticalFlow(path, values));
    return path;
  }

  static void ExpectRefused(const std::string& path, const char* says) {
    const auto truth = ReadTrueFlow(path);
    ASSERT_FALSE(truth.ok()) << path;
    EXPECT_EQ(truth.status().code(), absl::StatusCode::kInvalidArgument) << truth.status();
    EXPECT_THAT(std::string(truth.status().message()), HasSubstr(path));
    EXPECT_THAT(std::string(truth.status().message()), HasSubstr(says));
  }

  std::mt19937 random_{1};
  const TemporaryFolder folder_;
};

TEST_F(FlowFilesTest, AFloFileIsReadAsOpenCvWritesIt) {
  const std::vector<float> flow = RandomFlow(kWidth, kHeight, 9, random_);
  const auto truth = ReadTrueFlow(WriteFlo(flow));
  ASSERT_TRUE(truth.ok()) << truth.status();
  EXPECT_EQ(truth->width, kWidth);
  EXPECT_EQ(truth->height, kHeight);
  EXPECT_EQ(truth->flow, flow);
  EXPECT_THAT(truth->known, Each(1));
  EXPECT_TRUE(truth->visible.empty());
}

TEST_F(FlowFilesTest, VectorsThatNobodyKnowsAreMarkedInAFloFile) {
  std::vector<float> flow = RandomFlow(kWidth, kHeight, 9, random_);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  flow[0] = 1e9F;  // Middlebury's own mark.
  flow[3] = std::nanf("");
  flow[4] = -kInfinity;
  flow[7] = -1e7F;
  flow[8] = 999'999;
  const auto truth = ReadTrueFlow(WriteFlo(flow));
  ASSERT_TRUE(truth.ok()) << truth.status();
  for (int i = 0; i < kWidth * kHeight; ++i) EXPECT_EQ(truth->known[i], i < 4 ? 0 : 1) << i;
}

TEST_F(FlowFilesTest, AKittiPictureIsReadAsItsPaperSays) {
  cv::Mat picture(kHeight, kWidth, CV_16UC3);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      // Blue, green, red: whether it is known, dy, dx.
      picture.at<cv::Vec3w>(y, x) = {static_cast<std::uint16_t>(x == 2 ? 0 : 1),
                                     static_cast<std::uint16_t>(32768 + 64 * y),
                                     static_cast<std::uint16_t>(32768 - 16 * x)};
    }
  }
  for (const char* name : {"motion.png", "MOTION.PNG"}) {
    ASSERT_TRUE(cv::imwrite(folder_ / name, picture));
    const auto truth = ReadTrueFlow(folder_ / name);
    ASSERT_TRUE(truth.ok()) << truth.status();
    ASSERT_EQ(truth->width, kWidth);
    ASSERT_EQ(truth->height, kHeight);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const std::size_t pixel = static_cast<std::size_t>(y) * kWidth + x;
        EXPECT_EQ(truth->flow[2 * pixel], -0.25F * static_cast<float>(x));
        EXPECT_EQ(truth->flow[2 * pixel + 1], static_cast<float>(y));
        EXPECT_EQ(truth->known[pixel], x == 2 ? 0 : 1);
      }
    }
  }
}

TEST_F(FlowFilesTest, AFloFileThatIsCutShortAnywhereIsRefused) {
  const std::string whole = *ReadFile(WriteFlo(RandomFlow(kWidth, kHeight, 9, random_)));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ExpectRefused(folder_.Write("short.flo", std::string_view(whole).substr(0, length)),
                  length < 12 ? "202021.25" : "cut short");
  }
  ExpectRefused(folder_.Write("long.flo", whole + "x"), "damaged");
}

TEST_F(FlowFilesTest, AKittiPictureThatIsCutShortAnywhereEndsInAnErrorOrAPicture) {
  const cv::Mat picture(kHeight, kWidth, CV_16UC3, cv::Scalar(1, 32768, 32768));
  ASSERT_TRUE(cv::imwrite(folder_ / "whole.png", picture));
  const std::string whole = *ReadFile(folder_ / "whole.png");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto truth =
        ReadTrueFlow(folder_.Write("short.png", std::string_view(whole).substr(0, length)));
    if (truth.ok()) {
      EXPECT_EQ(truth->flow.size(), 2u * kWidth * kHeight) << length;
    } else {
      EXPECT_THAT(std::string(truth.status().message()), HasSubstr("short.png")) << length;
    }
  }
  ExpectRefused(folder_.Write("empty.png", ""), "cannot be read as a picture");
}

TEST_F(FlowFilesTest, AbsurdSizesAreRefusedBeforeAnyMemoryIsTaken) {
  std::string bytes = *ReadFile(WriteFlo(RandomFlow(kWidth, kHeight, 9, random_)));
  for (const std::int32_t side : {0, -1, 32769, std::numeric_limits<std::int32_t>::max(),
                                  std::numeric_limits<std::int32_t>::min()}) {
    for (const int at : {4, 8}) {
      std::string absurd = bytes;
      std::memcpy(absurd.data() + at, &side, sizeof(side));
      ExpectRefused(folder_.Write("absurd.flo", absurd), "not that of a picture");
    }
  }
  ExpectRefused(folder_.Write("absurd.png", PngHead(0x7FFFFFFF, 0x7FFFFFFF)),
                "cannot be read as a picture");
}

TEST_F(FlowFilesTest, OtherFilesAreRefused) {
  ExpectRefused(folder_.Write("other.flo", "P6 5 3 255 and then some"), "202021.25");
  ExpectRefused(folder_.Write("text.png", "no picture"), "cannot be read as a picture");
  ExpectRefused(folder_.Write("flow.pfm", "PF"), "read from .flo files and from KITTI's .png");
  const std::string eight_bits = folder_ / "eight.png";
  ASSERT_TRUE(cv::imwrite(eight_bits, cv::Mat(kHeight, kWidth, CV_8UC3, cv::Scalar(1, 2, 3))));
  ExpectRefused(eight_bits, "16 bits");
  const std::string grey = folder_ / "grey.png";
  ASSERT_TRUE(cv::imwrite(grey, cv::Mat(kHeight, kWidth, CV_16UC1, cv::Scalar(1))));
  ExpectRefused(grey, "three colours");
}

TEST_F(FlowFilesTest, AFileThatIsNotThereIsNotFound) {
  for (const char* name : {"nowhere.flo", "nowhere.png"}) {
    const auto truth = ReadTrueFlow(folder_ / name);
    EXPECT_EQ(truth.status().code(), absl::StatusCode::kNotFound) << truth.status();
    EXPECT_THAT(std::string(truth.status().message()), HasSubstr(name));
  }
}

}  // namespace
}  // namespace millrace::pipeline
