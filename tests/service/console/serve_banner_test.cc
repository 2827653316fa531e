#include "service/console/serve_banner.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BannerStream Street() {
  BannerStream stream = {
      .config = {}, .snapshot = LearningSnapshot("street"), .learner = TwoStages()};
  stream.config.name = "street";
  stream.config.source.loop = true;
  stream.config.source.as_camera = true;
  stream.config.learner.width = 352;
  stream.config.learner.height = 264;
  stream.config.learner.weights = "samples/weights/flow-start.safetensors";
  stream.snapshot.uri = "/videos/street.avi";
  return stream;
}

TEST(BannerTest, SaysWhatItLearnsAndWhatToExpect) {
  const std::vector<BannerStream> streams = {Street()};
  const std::string text = Banner(streams, {.page = "http://127.0.0.1:8080",
                                            .grpc = "127.0.0.1:50051",
                                            .metrics = "http://127.0.0.1:9464/metrics"});
  for (const char* part : {"street.avi, 768x576 at 10 frames a second, looped as a camera",
                           "optical flow at 352x264, from samples/weights/flow-start.safetensors",
                           "10.0 frames a second, delay 130 ms\n", "http://127.0.0.1:8080",
                           "gRPC 127.0.0.1:50051", "http://127.0.0.1:9464/metrics"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  for (const char* part : {"/videos/", "one_f_one_b_star", "stage", "staleness", "pipeline"}) {
    EXPECT_THAT(text, Not(HasSubstr(part)));
  }
}

TEST(BannerTest, VerboseSaysHowItLearns) {
  BannerStream stream = Street();
  EXPECT_THAT(Banner({&stream, 1}, {}, {.verbose = true}),
              HasSubstr("  plan      one_f_one_b_star, 2 stages on 2 threads (cpu:0 cpu:1), cut at "
                        "layer 2: 66 + 64 ms a frame, learning included\n"
                        "  stages    features, level 1 | level 2, level 3\n"
                        "  alone     7.7 frames a second without the pipeline\n"
                        "  staleness 1 0\n"
                        "  expect    10.0 frames a second, delay 130 ms\n"));
  stream.config.source.max_frames_per_second = 5;
  EXPECT_THAT(Banner({&stream, 1}, {}, {.verbose = true}), HasSubstr("  alone     5.0 frames"));
  stream.learner.stages.resize(1);
  EXPECT_THAT(Banner({&stream, 1}, {}, {.verbose = true}), Not(HasSubstr("without the pipeline")));
}

TEST(BannerTest, FitsATerminal) {
  const BannerStream stream = Street();
  const BannerAddresses addresses = {.page = "http://127.0.0.1:8080",
                                     .grpc = "127.0.0.1:50051",
                                     .metrics = "http://127.0.0.1:9464/metrics"};
  for (const std::size_t columns : {79U, 59U, 51U}) {
    const std::vector<std::string> lines =
        absl::StrSplit(Banner({&stream, 1}, addresses, {columns, /*verbose=*/true}), '\n');
    for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
    EXPECT_EQ(lines.back(), "");
  }
  EXPECT_THAT(Banner({&stream, 1}, addresses, {.columns = 60}),
              HasSubstr("  open      http://127.0.0.1:8080     gRPC 127.0.0.1:50051\n"
                        "            metrics http://127.0.0.1:9464/metrics\n"));
}

TEST(BannerTest, SaysWhereItComputesIfThatWasAskedFor) {
  BannerStream stream = Street();
  EXPECT_THAT(Banner({&stream, 1}, {}), Not(HasSubstr("\n  on ")));
  stream.learner.where = "the CPU, as there is no NVIDIA driver (libcuda.so.1)";
  EXPECT_THAT(Banner({&stream, 1}, {}),
              HasSubstr("\n  on        the CPU, as there is no NVIDIA driver (libcuda.so.1)\n"));
}

TEST(BannerTest, SaysThatItForetells) {
  BannerStream stream = Street();
  stream.config.flow.next_frame = true;
  EXPECT_THAT(Banner({&stream, 1}, {}), HasSubstr("  learns    the next frame at 352x264, from "));
}

TEST(BannerTest, SaysWhatItLearnsFromLabels) {
  BannerStream stream = Street();
  stream.learner.labels.emplace();
  stream.config.task = Task::kClassification;
  stream.config.learner.width = stream.config.learner.height = 32;
  stream.config.learner.weights.clear();
  stream.config.labels.outputs = 3;
  EXPECT_THAT(Banner({&stream, 1}, {}),
              HasSubstr("  learns    3 classes from labels at 32x32 in grey, mlp of 4 layers, "
                        "window 64, from random weights\n"));
  stream.config.learner.weights = "door.safetensors";
  EXPECT_THAT(Banner({&stream, 1}, {}), HasSubstr("window 64, from door.safetensors\n"));
  stream.config.learner.weights.clear();
  stream.config.labels.grey = false;
  stream.config.labels.model = "mine.pt";
  stream.config.labels.task = pipeline::LabelTask::kRegression;
  stream.config.labels.outputs = 1;
  EXPECT_EQ(DescribeLabels(stream.config),
            "1 value from labels at 32x32 in colour, mine.pt, window 64");
  EXPECT_THAT(Banner({&stream, 1}, {}),
              HasSubstr("mine.pt, window 64, from the weights in mine.pt\n"));
}

TEST(BannerTest, NamesEachOfSeveralStreams) {
  std::vector<BannerStream> streams = {Street(), Street()};
  streams[1].config.name = "yard";
  const std::string text = Banner(streams, {});
  EXPECT_THAT(text, HasSubstr("2 streams"));
  EXPECT_THAT(text, HasSubstr("\nyard   street.avi"));
}

TEST(DescribeSourceTest, LeavesOutWhatACameraHasNotSaid) {
  BannerStream stream = Street();
  stream.config.source = {};
  stream.snapshot.uri = "rtsp://***@gate/1";
  stream.snapshot.source = {};
  EXPECT_EQ(DescribeSource(stream), "rtsp://***@gate/1, connecting");
  stream.snapshot.uri = "push:";
  stream.snapshot.source.state = ingest::SourceState::kWaiting;
  EXPECT_EQ(DescribeSource(stream), "push:, waiting");
}

TEST(DescribeStagesTest, NamesFirstAndLastOfManyLayers) {
  pipeline::LearnerDescription learner = TwoStages();
  learner.stages[0].layers = {"features 1/2", "features 1/4", "match 1/4"};
  EXPECT_EQ(DescribeStages(learner), "features 1/2 to match 1/4 | level 2, level 3");
}

TEST(DescribeStagesTest, TakesALineForEachWhereOneIsTooNarrow) {
  pipeline::LearnerDescription learner = TwoStages();
  learner.stages[0].layers = {std::string(80, 'x')};
  EXPECT_THAT(DescribeStages(learner), HasSubstr("\n            level 2, level 3"));
}

TEST(DescribeExpectationTest, SaysWhenThePlanIsTooSlowForTheCamera) {
  EXPECT_THAT(DescribeExpectation(TwoStages(), /*camera_frames_per_second=*/25),
              HasSubstr("15.1 frames a second of the camera's 25"));
}

TEST(DescribeExpectationTest, ExpectsNoMoreThanTheLimitLetsThrough) {
  for (const double camera : {25.0, 0.0}) {
    EXPECT_THAT(DescribeExpectation(TwoStages(), camera, /*max_frames_per_second=*/10),
                HasSubstr("10.0 frames a second, delay"));
    EXPECT_THAT(DescribeExpectation(TwoStages(), camera, /*max_frames_per_second=*/20),
                HasSubstr("15.1 frames a second of the 20 that max_fps "
                          "lets through"));
  }
  EXPECT_THAT(DescribeExpectation(TwoStages(), 5, /*max_frames_per_second=*/10),
              HasSubstr("5.0 frames a second, delay"));
  BannerStream stream = Street();
  stream.config.source.max_frames_per_second = 3;
  EXPECT_THAT(Banner({&stream, 1}, {}), HasSubstr("  expect    3.0 frames a second"));
}

TEST(DescribeExpectationTest, SaysHowMuchIsLearnedAndDropped) {
  pipeline::LearnerDescription learner = TwoStages();
  learner.update_every = 4;
  learner.rate_plan = {.frames_per_second = 25, .holds = false, .dropped_share = 0.125};
  EXPECT_THAT(DescribeExpectation(learner, 25),
              HasSubstr(", learning from one frame in 4, 12 % of the frames dropped"));
}

TEST(BannerTest, NamesWhatStandsInTheWayWhereNotAllCanBeDone) {
  std::vector<BannerStream> streams = {Street()};
  streams[0].learner.rate_plan = {.limit = "layer 3 alone takes 62"};
  EXPECT_THAT(Banner(streams, {}), Not(HasSubstr("limit")));
  streams[0].learner.update_every = 0;
  EXPECT_THAT(Banner(streams, {}), HasSubstr("  limit     layer 3 alone takes 62\n"));
  EXPECT_THAT(Banner(streams, {}), HasSubstr(", only predicting"));
}

}  // namespace
}  // namespace millrace::service
