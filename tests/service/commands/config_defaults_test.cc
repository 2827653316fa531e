// The defaults of a stream whose entry has only a source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/regular_file.h"
#include "base/usable_cores.h"
#include "service/commands/init_command.h"
#include "service/config/config.h"
#include "service/config/config_print.h"
#include "service/config/warm_start.h"
#include "service/server/camera_fit.h"
#include "tests/service/support/config_texts.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

StreamConfig Parsed(const std::string& text) {
  const absl::StatusOr<Config> config = ParseConfig(text, "c");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->streams.front() : StreamConfig();
}

StreamConfig OfStream(const std::string& keys = "") {
  return Parsed(Stream("source: {uri: 'rtsp://camera.local/1'}" +
                       std::string(keys.empty() ? "" : ", ") + keys));
}

TEST(ConfigDefaultsTest, FiveLinesLeaveInputAndRateToTheCameraAndStartWarm) {
  const StreamConfig stream = Parsed(
      "version: 1\nstreams:\n  - name: door\n    source:\n      uri: rtsp://camera.local/1\n");
  EXPECT_FALSE(stream.input_is_set);
  EXPECT_EQ(stream.learner.schedule, "auto");
  EXPECT_EQ(stream.learner.frames_per_second, 0);
  EXPECT_EQ(stream.flow.network, "refine");
  EXPECT_EQ(stream.learner.weights, WarmStartWeights("refine"));
  EXPECT_NE(stream.learner.weights, "");
  EXPECT_TRUE(LeavesToCamera(stream));
}

TEST(ConfigDefaultsTest, StagesAreAsManyAsThereAreCoresUpToFour) {
  const int stages = OfStream().learner.stages;
  EXPECT_GE(stages, 1);
  EXPECT_LE(stages, 4);
  EXPECT_LE(stages, UsableCores());
  EXPECT_EQ(OfStream("schedule: {stages: 3}").learner.stages, 3);
  EXPECT_EQ(OfStream("schedule: {kind: partime}").learner.stages, 2);
}

TEST(ConfigDefaultsTest, KeysThatAutoCannotHaveMeanTheKindThatHasThem) {
  EXPECT_EQ(OfStream("schedule: {stages: 2}").learner.schedule, "auto");
  EXPECT_EQ(OfStream("schedule: {cuts: [2, 4]}").learner.schedule, "one_f_one_b_star");
  EXPECT_EQ(OfStream("schedule: {cuts: [2, 4]}").learner.stages, 3);
  EXPECT_EQ(OfStream("schedule: {period_ms: 40}").learner.schedule, "one_f_one_b_star");
  EXPECT_EQ(OfStream("schedule: {devices: [cpu, cpu]}").learner.schedule, "one_f_one_b_star");
}

TEST(ConfigDefaultsTest, WeightsNoneIsAColdStart) {
  EXPECT_EQ(OfStream("model: {weights: none}").learner.weights, "");
  EXPECT_EQ(OfStream("model: {network: flow}").learner.weights, WarmStartWeights("flow"));
  EXPECT_EQ(OfStream("model: {network: levels}").learner.weights, "");
  EXPECT_EQ(OfStream("model: {network: mine.pt}").learner.weights, "");
}

TEST(ConfigDefaultsTest, SmoothnessIsWhatSuitsTheNetwork) {
  const auto smoothness = [](const std::string& model) {
    return OfStream("model: {" + model + "}").flow.loss.smoothness;
  };
  EXPECT_EQ(smoothness(""), 10);
  EXPECT_EQ(smoothness("network: flow"), 0.1);
  EXPECT_EQ(smoothness("network: mine.pt"), 0.1);
  EXPECT_EQ(smoothness("smoothness: 0"), 0);
  EXPECT_EQ(smoothness("network: flow, smoothness: 10"), 10);
}

TEST(ConfigDefaultsTest, TasksOfLabelsLeaveOnlyTheRateToTheCamera) {
  const StreamConfig stream = OfStream("model: {task: classification, outputs: 2}");
  EXPECT_EQ(stream.learner.schedule, "auto");
  EXPECT_EQ(stream.learner.width, 32);
  EXPECT_EQ(stream.learner.weights, "");
  EXPECT_TRUE(LeavesToCamera(stream));
}

TEST(ConfigDefaultsTest, ANetworkThatNeedsOtherMultiplesFitsTheCameraByItself) {
  EXPECT_EQ(OfStream("model: {network: flownets}").flow.network, "flownets");
}

TEST(ConfigDefaultsTest, WhatIsPrintedHoldsTheSame) {
  const std::string text = Stream("source: {uri: 'test:'}");
  const std::string printed = PrintConfig(*ParseConfig(text, "c"));
  EXPECT_THAT(printed, HasSubstr("\n      # input: not set\n"));
  EXPECT_THAT(printed, HasSubstr("\n      kind: auto\n"));
  EXPECT_EQ(Parsed(printed).effective, Parsed(text).effective);
  const std::string cold = Stream("source: {uri: 'test:'}, model: {weights: none}");
  EXPECT_THAT(PrintConfig(*ParseConfig(cold, "c")), HasSubstr("\n      weights: none\n"));
}

TEST(ConfigDefaultsTest, TheSampleOfACameraIsWhatInitWrites) {
  const absl::StatusOr<std::string> sample = ReadFile(MILLRACE_SOURCE_DIR "/samples/camera.yaml");
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(*sample, ConfigOf({.uri = "rtsp://user:password@camera.local/stream1"}));
  EXPECT_TRUE(LeavesToCamera(Parsed(*sample)));
}

}  // namespace
}  // namespace millrace::service
