#include "service/commands/evaluate/flow_runs_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/commands/evaluate/evaluation_json.h"
#include "tests/base/temporary_folder.h"

namespace millrace::service {
namespace {

using pipeline::FlowEvaluation;
using pipeline::FlowRunName;

// Every number differs, so that none can stand for another.
class Numbers {
 public:
  double Next() { return next_ += 1.0 / 3; }
  pipeline::StreamScores Scores() {
    pipeline::StreamScores scores;
    scores.loss = {.predictions = Count(),
                   .learned_from = Count(),
                   .loss = Next(),
                   .loss_no_motion = Next(),
                   .loss_deviation = Next(),
                   .loss_p10 = Next(),
                   .loss_p90 = Next(),
                   .loss_reference = Next()};
    pipeline::FlowScores& flow = scores.flow;
    for (pipeline::PixelMean* const mean :
         {&flow.error, &flow.error_visible, &flow.error_hidden, &flow.error_slow,
          &flow.error_medium, &flow.error_fast, &flow.outlier, &flow.angle, &flow.ause,
          &flow.uncertainty, &flow.reconstructed, &flow.reconstructed_closely}) {
      *mean = {Next(), Count()};
    }
    flow.motion = {Count(), Count(), Count()};
    return scores;
  }
  pipeline::ScoredStream Stream() {
    pipeline::ScoredStream stream{.whole = Scores(), .windows = {}};
    for (int i = 0; i < 2; ++i) {
      stream.windows.push_back({.start = std::chrono::nanoseconds(Count()), .scores = Scores()});
    }
    return stream;
  }

 private:
  std::int64_t Count() { return static_cast<std::int64_t>(Next() * 1000); }

  double next_ = 0;
};

class FlowRunsFolderTest : public ::testing::Test {
 protected:
  FlowRunsFolderTest() {
    arguments_.input = "generated";
    arguments_.options.seeds = {0, 1};
    for (const char* name : {"generated 0", "generated 1"}) {
      arguments_.options.clips.push_back({.name = name, .width = 64, .height = 64, .open = {}});
    }
  }

  static FlowEvaluation::Run MadeRun() {
    Numbers numbers;
    FlowEvaluation::Run run;
    run.name = kName;
    run.optimizer.learning_rate = numbers.Next();
    run.cuts = {3, 5};
    run.costs = {{.forward = numbers.Next(), .backward = 2, .update = 3}, {.weight_gradient = 1}};
    run.switch_at = 7;
    pipeline::FlowRunResult& result = run.result;
    result.pairs = 11;
    result.dropped = 2;
    result.model = numbers.Stream();
    result.streaming = numbers.Stream();
    result.frozen = {{.name = "first",
                      .scores = numbers.Scores(),
                      .initial = numbers.Scores(),
                      .right_after = numbers.Scores()},
                     {.name = "last", .scores = numbers.Scores(), .other = true}};
    result.updates = {7, 8};
    result.update_cosines = {std::nullopt, 0.1};
    result.learning = {.roll_backs = 1, .drifts = 2, .gradients_not_finite = 3, .rate_scale = 0.5};
    result.stages = {{.layers = {"a", "b"}, .device = "cpu:0", .forward_ms = 1.5, .staleness = 4}};
    return run;
  }

  // Every figure that a report has.
  [[nodiscard]] std::string Report(const FlowEvaluation::Run& run) const {
    FlowEvaluation evaluation;
    evaluation.pairs = {11, 11};
    evaluation.runs = {run};
    return EvaluationJson(arguments_.options, evaluation, "");
  }

  [[nodiscard]] bool Finds() const {
    return FlowRunsFolder(Path(), arguments_).FindRun(kName).has_value();
  }
  [[nodiscard]] std::string Path() const { return folder_ / "runs"; }

  static inline const FlowRunName kName = {
      .network = "flow", .schedule = "partime", .stages = 3, .camera_rate = 25, .seed = 1};
  TemporaryFolder folder_;
  EvaluateFlowArguments arguments_;
};

TEST_F(FlowRunsFolderTest, ARunComesBackAsItWas) {
  const FlowEvaluation::Run run = MadeRun();
  ASSERT_TRUE(FlowRunsFolder(Path(), arguments_).Keep(run).ok());
  const FlowRunsFolder folder(Path(), arguments_);
  const auto found = folder.FindRun(kName);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Report(*found), Report(run));
  EXPECT_EQ(found->result.stages[0].layers, run.result.stages[0].layers);
  EXPECT_EQ(found->result.learning.rate_scale, 0.5);
  EXPECT_EQ(found->costs[0].backward, 2);
  EXPECT_EQ(folder.found(), 1);
}

TEST_F(FlowRunsFolderTest, AReferenceComesBackAsItWas) {
  FlowEvaluation::Reference reference{
      .name = "dis", .clip = 1, .scores = Numbers().Stream(), .losses = {0.1, 1.0 / 3}};
  ASSERT_TRUE(FlowRunsFolder(Path(), arguments_).Keep(reference).ok());
  const FlowRunsFolder folder(Path(), arguments_);
  const auto found = folder.FindReference("dis", 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->losses, reference.losses);
  EXPECT_EQ(found->scores.windows[1].start, reference.scores.windows[1].start);
  EXPECT_FALSE(folder.FindReference("dis", 0));
  EXPECT_FALSE(folder.FindReference("none", 1));
}

TEST_F(FlowRunsFolderTest, ARunOfAnotherOptionIsNotFound) {
  ASSERT_TRUE(FlowRunsFolder(Path(), arguments_).Keep(MadeRun()).ok());
  const EvaluateFlowArguments same = arguments_;
  using Change = void (*)(EvaluateFlowArguments&);
  const Change changes[] = {
      [](auto& a) { a.pairs = 5; },
      [](auto& a) { a.speed = 3; },
      [](auto& a) { a.window_s = 30; },
      [](auto& a) { a.task = "next_frame"; },
      [](auto& a) { a.options.frozen = false; },
      [](auto& a) { a.options.learner.optimizer.learning_rate = 1; },
      [](auto& a) { a.options.smoothness = 3; },
      [](auto& a) { a.options.task.loss.occlusion = true; },
      [](auto& a) { a.options.references = {"none"}; },
      [](auto& a) { a.options.step_ms = 40; },
      [](auto& a) { a.options.spread = 0.2; },
      [](auto& a) { a.options.switch_at = 5; },
      [](auto& a) { a.options.task.loss.kind = pipeline::FlowLossOptions::Kind::kCensus; },
      [](auto& a) { a.options.clips[0].width = 128; },
      [](auto& a) { a.others = {"generated"}; },
      [](auto& a) { a.frames_per_second = 10; },
      [](auto& a) { a.pseudo_truth = true; },
      [](auto& a) { a.options.clips[1].name = "generated 7"; },
  };
  for (const Change change : changes) {
    change(arguments_);
    EXPECT_FALSE(Finds()) << "change " << &change - changes;
    arguments_ = same;
    EXPECT_TRUE(Finds());
  }
  arguments_.options.seeds.push_back(2);
  arguments_.options.clips.push_back(
      {.name = "generated 2", .width = 64, .height = 64, .open = {}});
  arguments_.options.schedules = {"gpipe"};
  arguments_.options.jobs = 2;
  EXPECT_TRUE(Finds()) << "more runs";
}

TEST_F(FlowRunsFolderTest, ARunOfAnotherFileIsNotFound) {
  const std::string weights = folder_ / "weights";
  const std::string video = folder_ / "video";
  std::ofstream(weights) << "a";
  std::ofstream(video) << "a";
  arguments_.input = video;
  arguments_.options.weights = {weights};
  ASSERT_TRUE(FlowRunsFolder(Path(), arguments_).Keep(MadeRun()).ok());
  EXPECT_TRUE(Finds());
  std::ofstream(weights) << "b";
  EXPECT_FALSE(Finds());
  std::ofstream(weights) << "a";
  EXPECT_TRUE(Finds());
  std::ofstream(video) << "longer";
  EXPECT_FALSE(Finds());
}

TEST_F(FlowRunsFolderTest, TheEndOfALargeFileCounts) {
  const std::string weights = folder_.Write("weights", "a");
  std::filesystem::resize_file(weights, std::uintmax_t{70} << 20);
  arguments_.options.weights = {weights};
  ASSERT_TRUE(FlowRunsFolder(Path(), arguments_).Keep(MadeRun()).ok());
  EXPECT_TRUE(Finds());
  std::ofstream(weights, std::ios::app) << "b";
  EXPECT_FALSE(Finds());
}

TEST_F(FlowRunsFolderTest, PicturesAndTruthOfAFolderCount) {
  for (std::string EvaluateFlowArguments::*const argument :
       {&EvaluateFlowArguments::input, &EvaluateFlowArguments::truth,
        &EvaluateFlowArguments::hidden}) {
    const TemporaryFolder pictures;
    (void)pictures.Write("1.png", "a");
    arguments_.*argument = pictures.path();
    FlowRunsFolder runs(pictures / "runs", arguments_);
    ASSERT_TRUE(runs.Keep(MadeRun()).ok());
    const auto finds = [&] {
      return FlowRunsFolder(pictures / "runs", arguments_).FindRun(kName).has_value();
    };
    EXPECT_TRUE(finds()) << "the folder of runs does not count";
    (void)pictures.Write("2.png", "a");
    EXPECT_FALSE(finds());
    arguments_.*argument = argument == &EvaluateFlowArguments::input ? "generated" : "";
  }
}

TEST_F(FlowRunsFolderTest, OfAPatternNothingIsKept) {
  arguments_.input = folder_ / "*.png";
  EXPECT_TRUE(FlowRunsFolder(Path(), arguments_).Keep(MadeRun()).ok());
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_FALSE(Finds());
}

TEST_F(FlowRunsFolderTest, AFileThatCannotBeReadIsNotFoundAndReplaced) {
  FlowRunsFolder folder(Path(), arguments_);
  ASSERT_TRUE(folder.Keep(MadeRun()).ok());
  const std::string file = std::filesystem::directory_iterator(Path())->path();
  for (const char* content : {"", "{", "[]", "{\"of\": 3}"}) {
    std::ofstream(file) << content;
    EXPECT_FALSE(Finds()) << content;
  }
  ASSERT_TRUE(folder.Keep(MadeRun()).ok());
  EXPECT_TRUE(Finds());
}

TEST_F(FlowRunsFolderTest, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder_ / "file") << "in the way";
  FlowRunsFolder folder(folder_ / "file/runs", arguments_);
  EXPECT_THAT(std::string(folder.Keep(MadeRun()).message()),
              ::testing::HasSubstr(folder_ / "file/runs"));
}

}  // namespace
}  // namespace millrace::service
