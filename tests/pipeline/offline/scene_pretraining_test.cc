#include <filesystem>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/random.h"
#include "base/regular_file.h"
#include "pipeline/offline/pretrain.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

class ScenePretrainingTest : public ::testing::Test {
 public:
  ~ScenePretrainingTest() override { std::filesystem::remove_all(folder_); }

 protected:
  ScenePretrainingTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("scene_pretraining_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
  }

  PretrainOptions Small(const std::string& name, std::int64_t frames) const {
    PretrainOptions options{.output = (folder_ / name).string(),
                            .network = "refine",
                            .width = 64,
                            .height = 64,
                            .checkpoints = (folder_ / (name + ".unfinished")).string(),
                            .frames = frames,
                            .frames_per_report = 4};
    Random random(1);
    for (int i = 0; i < 3; ++i) {
      Photograph noise{.width = 160, .height = 140, .grey = {}};
      for (int pixel = 0; pixel < noise.width * noise.height; ++pixel) {
        noise.grey.push_back(static_cast<std::uint8_t>(random.Uniform(0, 256)));
      }
      options.photographs.push_back(std::move(noise));
    }
    return options;
  }

  const std::filesystem::path folder_;
};

TEST_F(ScenePretrainingTest, AStoppedRunContinuesToTheSameWeights) {
  const PretrainOptions whole = Small("whole", 16);
  ASSERT_TRUE(Pretrain(whole, nullptr).ok());
  const PretrainOptions parts = Small("parts", 16);
  std::stop_source stop;
  const absl::Status stopped =
      Pretrain(
          parts, [&](const PretrainProgress&) { stop.request_stop(); }, stop.get_token())
          .status();
  EXPECT_TRUE(absl::IsCancelled(stopped)) << stopped;
  EXPECT_THAT(std::string(stopped.message()),
              HasSubstr("stopped after 4 frames; " + parts.output +
                        " not written; the same command continues"));
  EXPECT_FALSE(std::filesystem::exists(parts.output));
  std::vector<std::int64_t> frames;
  ASSERT_TRUE(Pretrain(parts, [&](const PretrainProgress& progress) {
                frames.push_back(progress.frames);
              }).ok());
  EXPECT_THAT(frames, ::testing::ElementsAre(8, 12, 16));
  EXPECT_EQ(*ReadFile(parts.output), *ReadFile(whole.output));
}

TEST_F(ScenePretrainingTest, WhatWasLearnedWithOtherOptionsIsRefused) {
  PretrainOptions options = Small("a", 8);
  std::stop_source stop;
  options.checkpoints = (folder_ / "stopped").string();
  EXPECT_TRUE(absl::IsCancelled(
      Pretrain(
          options, [&](const PretrainProgress&) { stop.request_stop(); }, stop.get_token())
          .status()));
  options.learning_rate *= 2;
  const absl::Status refused = Pretrain(options, nullptr).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(options.checkpoints));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("name another folder"));
}

TEST_F(ScenePretrainingTest, AnyNetworkLearnsFromScenes) {
  for (const char* network : {"flow", "levels", "ndconv"}) {
    PretrainOptions options = Small(network, 4);
    options.network = network;
    const auto summary = Pretrain(options, nullptr);
    EXPECT_TRUE(summary.ok()) << network << ": " << summary.status();
  }
}

}  // namespace
}  // namespace millrace::pipeline
