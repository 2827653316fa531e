#include "service/server/camera_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/service/support/config_texts.h"

namespace millrace::service {
namespace {

StreamConfig StreamOf(const std::string& source, const std::string& keys = "") {
  const absl::StatusOr<Config> config =
      ParseConfig(Stream("source: {" + source + "}" + (keys.empty() ? "" : ", ") + keys), "c");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->streams.front() : StreamConfig();
}

StreamConfig Camera(const std::string& keys = "") {
  return StreamOf("uri: 'rtsp://camera.local/1'", keys);
}

ingest::SourceFacts Facts(int width, int height, double frames_per_second) {
  return {
      .picture = {width, height}, .sent = {width, height}, .frames_per_second = frames_per_second};
}

absl::StatusOr<ingest::SourceFacts> Away(const ingest::SourceOptions&) {
  return absl::UnavailableError("nobody listens");
}

TEST(FitToTest, TheModelFollowsTheCamera) {
  const StreamConfig fitted = FitTo(Facts(1920, 1080, 15), Camera());
  EXPECT_EQ(fitted.learner.width, 400);
  EXPECT_EQ(fitted.learner.height, 224);
  EXPECT_EQ(fitted.source.width, 400);
  EXPECT_EQ(fitted.source.height, 224);
  EXPECT_EQ(fitted.learner.schedule, "auto");
  EXPECT_EQ(fitted.learner.frames_per_second, 15);
  EXPECT_FALSE(LeavesToCamera(fitted));
}

TEST(FitToTest, WhatTheFileSaysStays) {
  const StreamConfig fitted =
      FitTo(Facts(1920, 1080, 25),
            Camera("model: {input: [352, 256]}, schedule: {kind: auto, frames_per_second: 5}"));
  EXPECT_EQ(fitted.learner.width, 352);
  EXPECT_EQ(fitted.learner.height, 256);
  EXPECT_EQ(fitted.learner.frames_per_second, 5);
}

TEST(FitToTest, TheRateIsThatOfWhatMaxFpsLetsThrough) {
  const StreamConfig fitted =
      FitTo(Facts(640, 480, 25), StreamOf("uri: 'rtsp://camera.local/1', max_fps: 10"));
  EXPECT_EQ(fitted.learner.frames_per_second, 10);
}

TEST(FitToTest, ASourceThatWaitsIsLearnedFromAsFastAsCanBe) {
  const StreamConfig file = FitTo(Facts(640, 480, 25), StreamOf("uri: street.mp4"));
  EXPECT_EQ(file.learner.schedule, "one_f_one_b_star");
  EXPECT_EQ(file.learner.request.period, 0);
  const StreamConfig paced = FitTo(Facts(640, 480, 25), StreamOf("uri: a.mp4, as_camera: true"));
  EXPECT_EQ(paced.learner.schedule, "auto");
}

TEST(FitToTest, EachNetworkGetsItsMultiples) {
  for (const auto& [network, multiple] :
       {std::pair("flow", 16), std::pair("ndconv", 16), std::pair("resunet", 32),
        std::pair("flownets", 64), std::pair("mine.pt", 16)}) {
    const StreamConfig fitted =
        FitTo(Facts(1920, 1080, 25), Camera(absl::StrCat("model: {network: ", network, "}")));
    EXPECT_EQ(fitted.learner.width % multiple, 0) << network;
    EXPECT_EQ(fitted.learner.height % multiple, 0) << network;
    EXPECT_GT(fitted.learner.width, fitted.learner.height) << network;
  }
}

TEST(CameraFitTest, ACameraThatIsAwayIsAssumedAndCorrectedOnceItShowsItself) {
  CameraFit fit(Away);
  const auto assumed = fit.Complete(Camera());
  ASSERT_TRUE(assumed.ok()) << assumed.status();
  EXPECT_EQ(assumed->config.learner.width, 400);
  EXPECT_EQ(assumed->config.learner.frames_per_second, 25);
  EXPECT_EQ(assumed->announced, 25) << "it is not looked at again for its rate";
  EXPECT_TRUE(fit.Assumed("a"));

  const auto corrected = fit.Correct(assumed->config, Facts(640, 480, 25));
  ASSERT_TRUE(corrected.has_value());
  EXPECT_EQ(corrected->learner.width, 320);
  EXPECT_EQ(corrected->learner.height, 240);
  EXPECT_FALSE(fit.Assumed("a"));
  EXPECT_FALSE(fit.Correct(assumed->config, Facts(1080, 1920, 25)).has_value()) << "only once";
}

// A mistyped address is corrected while its camera is away, which leaves the learner as it was.
TEST(CameraFitTest, AChangeAfterTheCameraWasAssumedStays) {
  CameraFit fit(Away);
  ASSERT_TRUE(fit.Complete(Camera()).ok());
  const StreamConfig mended = StreamOf("uri: rtsp://another/stream1");
  const auto corrected = fit.Correct(mended, Facts(640, 480, 25));
  ASSERT_TRUE(corrected.has_value());
  EXPECT_EQ(corrected->source.uri, "rtsp://another/stream1");
  EXPECT_EQ(corrected->learner.width, 320);
}

TEST(CameraFitTest, ACameraAsItWasAssumedChangesNothing) {
  CameraFit fit(Away);
  ASSERT_TRUE(fit.Complete(Camera()).ok());
  EXPECT_FALSE(fit.Correct(Camera(), Facts(2560, 1440, 25)).has_value());
}

TEST(CameraFitTest, AnotherRateThanAssumedIsFollowedByThePlanIfItCan) {
  for (const auto& [schedule, restarts] :
       {std::pair("", false), std::pair("schedule: {devices: cpu}", false),
        std::pair("schedule: {replan_share: 0}", true),
        std::pair("schedule: {devices: cuda}", true)}) {
    CameraFit fit(Away);
    const StreamConfig camera = Camera(schedule);
    const auto assumed = fit.Complete(camera);
    ASSERT_TRUE(assumed.ok());
    EXPECT_EQ(fit.Correct(assumed->config, Facts(2560, 1440, 12)).has_value(), restarts)
        << schedule;
  }
}

TEST(CameraFitTest, ThePlanFollowsACameraWhoseRateIsLeftOpen) {
  const StreamConfig open = FitTo(Facts(640, 480, 12), Camera());
  EXPECT_EQ(open.learner.frames_per_second, 12);
  EXPECT_TRUE(open.follows_camera);
  EXPECT_TRUE(FitTo(Facts(640, 480, 25), open).follows_camera) << "also in its next life";
  EXPECT_FALSE(
      FitTo(Facts(640, 480, 12), Camera("schedule: {frames_per_second: 5}")).follows_camera);
  EXPECT_FALSE(FitTo(Facts(640, 480, 12), StreamOf("uri: street.mp4")).follows_camera)
      << "a file that waits for the model has no rate";
}

// The whole server would wait for a silent camera.
TEST(CameraFitTest, ASlowCameraIsNotWaitedForLongerThanFiveSeconds) {
  std::vector<std::int64_t> waits;
  CameraFit fit([&](const ingest::SourceOptions& source) {
    waits.push_back(source.camera.connect_timeout.count());
    return Away(source);
  });
  for (const char* const keys : {", connect_timeout_ms: 60000", "", ", connect_timeout_ms: 1500"}) {
    ASSERT_TRUE(fit.Complete(StreamOf(absl::StrCat("uri: 'rtsp://camera.local/1'", keys))).ok());
  }
  EXPECT_THAT(waits, testing::ElementsAre(5000, 5000, 1500));
}

TEST(CameraFitTest, AFileThatIsNotThereFailsAtOnce) {
  CameraFit fit([](const ingest::SourceOptions&) { return absl::NotFoundError("no such file"); });
  EXPECT_EQ(fit.Complete(StreamOf("uri: street.mp4")).status().code(), absl::StatusCode::kNotFound);
}

TEST(CameraFitTest, NothingIsLookedAtWhereTheFileSaysAll) {
  std::atomic<int> looks = 0;
  CameraFit fit([&](const ingest::SourceOptions&) {
    ++looks;
    return Facts(640, 480, 25);
  });
  const auto said = fit.Complete(Camera("model: {input: [64, 64]}, schedule: {kind: partime}"));
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->announced, std::nullopt);
  ASSERT_TRUE(fit.Complete(StreamOf("uri: 'push:'")).ok());
  EXPECT_EQ(looks, 0);
}

TEST(CameraFitTest, ACameraOfLabelsGivesItsRateAndNotItsShape) {
  const std::string labels = "model: {task: regression, outputs: 1}";
  CameraFit fit([&](const ingest::SourceOptions&) { return Facts(640, 480, 12); });
  const auto fitted = fit.Complete(Camera(labels));
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted->config.learner.schedule, "auto");
  EXPECT_EQ(fitted->config.learner.frames_per_second, 12);
  EXPECT_EQ(fitted->config.learner.width, 32);
  EXPECT_EQ(fitted->config.learner.height, 32);
}

TEST(FitToTest, LabelsWithoutARateHaveTheUsualStagesUnlessOthersAreGiven) {
  const auto stages = [](const std::string& schedule) {
    const StreamConfig fitted =
        FitTo({}, StreamOf("uri: 'push:'", "model: {task: regression, outputs: 1}" + schedule));
    EXPECT_EQ(fitted.learner.schedule, "one_f_one_b_star");
    return fitted.learner.stages;
  };
  EXPECT_EQ(stages(""), 2);
  EXPECT_EQ(stages(", schedule: {kind: auto}"), 2);
  EXPECT_EQ(stages(", schedule: {stages: 3}"), 3);
}

// Each look waits for all the others: one after the other they would never end.
TEST(CameraFitTest, LooksAtAllCamerasAtTheSameTimeAndOnceEach) {
  constexpr int kCameras = 8;
  std::barrier all(kCameras);
  std::atomic<int> looks = 0;
  CameraFit fit([&](const ingest::SourceOptions&) -> absl::StatusOr<ingest::SourceFacts> {
    ++looks;
    all.arrive_and_wait();
    return Facts(640, 480, 25);
  });
  std::vector<StreamConfig> streams(kCameras, Camera());
  for (int i = 0; i < kCameras; ++i) streams[static_cast<std::size_t>(i)].name = absl::StrCat(i);
  fit.LookAhead(streams, {});
  for (const StreamConfig& stream : streams) {
    const auto fitted = fit.Complete(stream);
    ASSERT_TRUE(fitted.ok()) << fitted.status();
    EXPECT_EQ(fitted->config.learner.width, 320);
    EXPECT_EQ(fitted->announced, 25);
  }
  EXPECT_EQ(looks, kCameras);
}

}  // namespace
}  // namespace millrace::service
