#include "service/config/config.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using pipeline::LabelTask;
using ::testing::ElementsAre;

/// A stream that has `keys` beside its name and its source.
std::string Stream(const std::string& keys) {
  return "version: 1\nstreams:\n- {name: a, source: {uri: 'test:'}, " + keys + "}\n";
}

/// One stream and `lines` of the file.
std::string File(const std::string& lines) {
  return "version: 1\nstreams: [{name: a, source: {uri: 'test:'}}]\n" + lines + "\n";
}

StreamConfig Parsed(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "c");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->streams.front() : StreamConfig();
}

TEST(LabelConfigTest, TheTaskIsFlowUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(Parsed(File("")).task, Task::kFlow);
  EXPECT_FALSE(IsOfLabels(Task::kFlow));
}

TEST(LabelConfigTest, ATaskOfLabelsHasDefaultsOfItsOwn) {
  const StreamConfig stream = Parsed(File("model: {task: classification, outputs: 3}"));
  EXPECT_EQ(stream.task, Task::kClassification);
  EXPECT_EQ(stream.source.width, 32);
  EXPECT_EQ(stream.source.height, 32);
  EXPECT_EQ(stream.learner.width, 32);
  const pipeline::LabelTaskOptions& labels = stream.labels;
  EXPECT_TRUE(labels.grey);
  EXPECT_EQ(labels.task, LabelTask::kClassification);
  EXPECT_EQ(labels.network, "mlp");
  EXPECT_EQ(labels.outputs, 3);
  EXPECT_EQ(labels.window, 64);
  ASSERT_TRUE(labels.divergence.has_value());
  EXPECT_EQ(labels.divergence->max_loss, 3);
}

TEST(LabelConfigTest, ReadsEveryKey) {
  const StreamConfig stream = Parsed(Stream(
      "model: {task: classification, network: convolutional, classes: [still, moving], window: 16, "
      "pictures: colour, layers: 6, width: 12, input: [20, 10], learning_rate: 0.5, seed: 7}, "
      "schedule: {kind: k_periodic, stages: 3, cuts: [2, 4], samples: 5, "
      "stage_rates: [1, 0.5, 2], threads_per_stage: 2}"));
  const pipeline::LabelTaskOptions& labels = stream.labels;
  EXPECT_THAT(labels.classes, ElementsAre("still", "moving"));
  EXPECT_FALSE(labels.grey);
  EXPECT_EQ(labels.network, "convolutional");
  EXPECT_EQ(labels.outputs, 2);
  EXPECT_EQ(labels.window, 16);
  EXPECT_EQ(labels.layers, 6);
  EXPECT_EQ(labels.width, 12);
  EXPECT_EQ(stream.source.width, 20);
  const pipeline::LearnerOptions& learner = stream.learner;
  EXPECT_EQ(learner.width, 20);
  EXPECT_EQ(learner.height, 10);
  EXPECT_EQ(learner.optimizer.learning_rate, 0.5);
  EXPECT_EQ(learner.seed, 7u);
  EXPECT_EQ(learner.schedule, "k_periodic");
  EXPECT_EQ(learner.stages, 3);
  EXPECT_THAT(learner.cuts, ElementsAre(2, 4));
  EXPECT_EQ(learner.request.samples, 5);
  EXPECT_THAT(learner.stage_rates, ElementsAre(1, 0.5, 2));
  EXPECT_EQ(learner.threads_per_stage, 2);
}

TEST(LabelConfigTest, ANetworkOfOnesOwnIsAFile) {
  const StreamConfig stream =
      Parsed(Stream("model: {task: regression, outputs: 1, network: nets/mine.pt}"));
  EXPECT_EQ(stream.labels.model, "nets/mine.pt");
  EXPECT_EQ(stream.labels.task, LabelTask::kRegression);
}

TEST(LabelConfigTest, ItMayStartFromWeightsOfItsOwn) {
  const StreamConfig stream =
      Parsed(File("model: {task: regression, outputs: 1, weights: door.safetensors}"));
  EXPECT_EQ(stream.learner.weights, "door.safetensors");
}

// The camera's rate decides later: camera_fit.h.
TEST(LabelConfigTest, TheDefaultScheduleIsAutoAsForFlow) {
  const auto of = [](const std::string& source, const std::string& schedule = "",
                     const std::string& defaults = "") {
    return Parsed("version: 1\n" + defaults + "streams: [{name: a, source: {" + source +
                  "}, model: {task: classification, outputs: 2}" + schedule + "}]\n")
        .learner;
  };
  for (const char* const source : {"uri: 'rtsp://camera.local/1'", "uri: a.avi", "uri: 'push:'"}) {
    EXPECT_EQ(of(source).schedule, "auto") << source;
  }
  EXPECT_EQ(of("uri: a.avi", ", schedule: {cuts: [1]}").schedule, "one_f_one_b_star");
  EXPECT_EQ(of("uri: a.avi", "", "schedule: {devices: [cpu, cpu]}\n").schedule, "auto")
      << "devices are those of flow";
  EXPECT_EQ(of("uri: a.avi", ", schedule: {kind: auto, frames_per_second: 5}").frames_per_second,
            5);
  EXPECT_EQ(of("uri: a.avi", ", schedule: {frames_per_second: 5}").frames_per_second, 5);
}

// Settings for all streams apply only to streams that have such settings.
TEST(LabelConfigTest, WhatTheFileSaysOfFlowIsNotForAStreamOfLabels) {
  const absl::StatusOr<Config> config = ParseConfig(R"(
version: 1
model: {network: levels, loss: census, weights: start.pt, input: [352, 256], learning_rate: 0.01}
learning: {policy: diff}
scores: {compare_with: dis}
checkpoints: {folder: kept}
streams:
  - name: door
    source: {uri: door.avi}
    model: {task: classification, classes: [open, shut], input: [24, 24]}
  - name: street
    source: {uri: street.avi}
)",
                                                    "c");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamConfig& door = config->streams[0];
  EXPECT_EQ(door.labels.network, "mlp");
  EXPECT_EQ(door.learner.optimizer.learning_rate, 0.01);
  EXPECT_EQ(door.learner.weights, "");
  EXPECT_EQ(door.learner.checkpoints.folder, "kept/door");
  EXPECT_EQ(door.flow.learning.policy.kind, pipeline::UpdatePolicyOptions::Kind::kEvery);
  EXPECT_EQ(door.scores.compare_with, "none");
  EXPECT_EQ(door.source.width, 24);
  const StreamConfig& street = config->streams[1];
  EXPECT_EQ(street.learner.checkpoints.folder, "kept/street");
  EXPECT_EQ(street.flow.network, "levels");
}

struct BadFile {
  std::string title;
  std::string yaml;
  std::string message;
};

void PrintTo(const BadFile& file, std::ostream* out) { *out << file.title; }

class BadLabelConfigTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadLabelConfigTest, IsRefusedWithItsPlace) {
  const absl::Status status = ParseConfig(GetParam().yaml, "c").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, BadLabelConfigTest,
    testing::ValuesIn(std::vector<BadFile>{
        {"OtherTask", File("model: {task: depth}"),
         "c:3:15: 'task' is 'depth'; it must be one of flow, next_frame, classification, "
         "regression"},
        {"NoOutputs", Stream("model: {task: classification}"),
         "c:3:51: 'task' needs 'outputs', how many classes there are, or 'classes'"},
        {"NoValues", Stream("model: {task: regression}"),
         "c:3:51: 'task' needs 'outputs', how many values there are"},
        {"NoOutputsInTheFile", File("model: {task: classification}"),
         "c:2:11: entry 1 of 'streams' has a model whose 'task' needs 'outputs', how many classes "
         "there are, or 'classes'"},
        {"OneClass", Stream("model: {task: classification, outputs: 1}"),
         "c:3:76: 'outputs' is 1; there must be 2 classes or more"},
        {"OtherNumberOfClasses",
         Stream("model: {task: classification, outputs: 3, classes: [a, b]}"),
         "c:3:76: 'outputs' is 3; 'classes' has 2 names"},
        {"SameClass", Stream("model: {task: classification, classes: [a, a]}"),
         "c:3:80: entry 2 of 'classes' is 'a', as one before; names must differ"},
        {"NamesOfValues", Stream("model: {task: regression, outputs: 2, classes: [a, b]}"),
         "c:3:84: 'classes' is for the task classification only"},
        {"FlowNetwork", Stream("model: {task: regression, outputs: 2, network: levels}"),
         "c:3:84: 'network' is 'levels'; with this task it must be mlp, convolutional, or a file "
         "NAME.pt that torch.jit.save() wrote"},
        {"LabelNetworkForFlow", Stream("model: {network: mlp}"),
         "c:3:54: 'network' is 'mlp'; it must be one of refine, flow, levels, ndconv, resunet, "
         "flownets, "
         "or a file NAME.pt that torch.jit.save() wrote"},
        {"SmallPicture", Stream("model: {task: regression, outputs: 2, input: [4, 8]}"),
         "c:3:83: entry 1 of 'input' is '4'; it must be a whole number from 8 to 2048"},
        {"OtherPictures", Stream("model: {task: regression, outputs: 2, pictures: blue}"),
         "c:3:85: 'pictures' is 'blue'; it must be one of grey, colour"},
        {"LossOfFlow", Stream("model: {task: regression, outputs: 2, loss: census}"),
         "c:3:81: 'loss' is not for the tasks classification and regression"},
        {"Policy", Stream("model: {task: regression, outputs: 2}, learning: {policy: mag}"),
         "c:3:86: 'learning' is not for the tasks classification and regression"},
        {"CompareWith", Stream("model: {task: regression, outputs: 2}, scores: {window_s: 2}"),
         "c:3:84: 'scores' is not for the tasks classification and regression"},
        {"Local", Stream("model: {task: regression, outputs: 2}, schedule: {kind: local}"),
         "c:3:93: 'kind' is local, which is not for the tasks classification and regression"},
        {"WindowOfFlow", Stream("model: {window: 64}"),
         "c:3:53: 'window' is for the tasks classification and regression only"},
        {"FlowAtASizeOfLabels",
         "version: 1\nmodel: {task: classification, outputs: 2, input: [20, 20]}\n"
         "streams: [{name: a, source: {uri: 'test:'}, model: {task: flow}}]\n",
         "c:3:11: entry 1 of 'streams' has a model whose 'input' is 20x20; flow needs at least "
         "64x64\n"
         "c:3:11: entry 1 of 'streams' has a model whose 'input' is 20x20; the network refine "
         "needs multiples of 16"}}),
    [](const auto& tested) { return tested.param.title; });

}  // namespace
}  // namespace millrace::service
