#include "pipeline/offline/pretrain.h"

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "pipeline/models/coarse_to_fine_network.h"
#include "pipeline/nn/weights_file.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

class PretrainTest : public ::testing::Test {
 public:
  ~PretrainTest() override { std::filesystem::remove_all(folder_); }

 protected:
  PretrainTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                (std::string("pretrain_test_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                 std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
  }

  PretrainOptions Small(const std::string& name, std::int64_t frames) const {
    return {.output = (folder_ / name).string(),
            .network = "flow",
            .width = 64,
            .height = 64,
            .frames = frames};
  }

  std::filesystem::path folder_;
};

TEST_F(PretrainTest, LearnsToSeeMotionBetterThanNoMotion) {
  PretrainOptions options = Small("a", 240);
  options.learning_rate = 1e-3;
  options.frames_per_report = 80;
  std::vector<PretrainProgress> reports;
  const auto summary =
      Pretrain(options, [&](const PretrainProgress& progress) { reports.push_back(progress); });
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_EQ(reports.size(), 3);
  EXPECT_EQ(reports.back().frames, 240);
  EXPECT_EQ(summary->last.frames, 240);
  EXPECT_EQ(summary->first.frames, 80);
  EXPECT_EQ(summary->skipped_updates, 0);
  EXPECT_LT(summary->last.loss_ratio, 0.97);
  EXPECT_LT(summary->last.loss_ratio, summary->first.loss_ratio);
  LayerChain network = MakeCoarseToFineNetwork();
  EXPECT_TRUE(LoadWeights(options.output, network).ok());
}

TEST_F(PretrainTest, SameOptionsMakeTheSameFile) {
  const PretrainOptions one = Small("one", 5);
  const PretrainOptions two = Small("two", 5);
  PretrainOptions other = Small("other", 5);
  other.seed = 1;
  for (const PretrainOptions& options : {one, two, other}) {
    ASSERT_TRUE(Pretrain(options, nullptr).ok());
  }
  EXPECT_EQ(*ReadFile(one.output), *ReadFile(two.output));
  EXPECT_NE(*ReadFile(one.output), *ReadFile(other.output));
}

TEST_F(PretrainTest, LastReportComesEvenIfItIsShort) {
  PretrainOptions options = Small("a", 5);
  options.frames_per_report = 3;
  std::vector<std::int64_t> frames;
  ASSERT_TRUE(Pretrain(options, [&](const PretrainProgress& progress) {
                frames.push_back(progress.frames);
              }).ok());
  EXPECT_THAT(frames, ::testing::ElementsAre(3, 5));
}

TEST_F(PretrainTest, BadOptionsAreNamed) {
  const auto message = [](const PretrainOptions& options) {
    const auto summary = Pretrain(options, nullptr);
    EXPECT_TRUE(absl::IsInvalidArgument(summary.status())) << summary.status();
    return std::string(summary.status().message());
  };
  PretrainOptions options = Small("a", 1);
  options.width = 100;
  EXPECT_THAT(message(options),
              HasSubstr("width is 100; it must be a multiple of 16, at least 64"));
  options = Small("a", 1);
  options.height = 48;
  EXPECT_THAT(message(options), HasSubstr("height is 48"));
  EXPECT_THAT(message(Small("a", 0)), HasSubstr("frames is 0"));
  options = Small("a", 1);
  options.learning_rate = -1;
  EXPECT_THAT(message(options), HasSubstr("learning rate is -1"));
  options = Small("a", 1);
  options.output = "";
  EXPECT_THAT(message(options), HasSubstr("no name was given"));
}

TEST_F(PretrainTest, FileThatCannotBeWrittenIsNoticedBeforeAnyWork) {
  PretrainOptions options = Small("a", 1'000'000);
  options.output = (folder_ / "missing" / "a").string();
  const auto summary = Pretrain(options, nullptr);
  EXPECT_TRUE(absl::IsNotFound(summary.status())) << summary.status();
  EXPECT_THAT(std::string(summary.status().message()), HasSubstr(options.output));
}

TEST_F(PretrainTest, StopsWhenAskedAndWritesNothing) {
  std::stop_source source;
  PretrainOptions options = Small("a", 1'000'000);
  options.frames_per_report = 2;
  const auto summary = Pretrain(
      options, [&](const PretrainProgress&) { source.request_stop(); }, source.get_token());
  EXPECT_TRUE(absl::IsCancelled(summary.status())) << summary.status();
  EXPECT_THAT(std::string(summary.status().message()), HasSubstr("stopped after 2 frames"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace millrace::pipeline
