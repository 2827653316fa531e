// Whole comparisons, as small as they come: real learners on generated pictures.
#include "pipeline/comparison/flow_evaluation.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/classical/reference_flow.h"
#include "pipeline/comparison/generated_clip.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/nn/weights_file.h"
#include "tests/base/temporary_folder.h"
#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kPairs = 12;

class FlowEvaluationTest : public ::testing::Test {
 protected:
  // Two schedules, two seeds with a clip each, cut always alike; windows of five pairs.
  static FlowEvaluationOptions Options() {
    FlowEvaluationOptions options;
    for (const std::uint64_t seed : {3, 4}) options.clips.push_back(Generated(seed));
    options.others = {Generated(5)};
    options.schedules = {"partime", "one_f_one_b_star"};
    options.stages = {2};
    options.learner.cuts = {5};
    options.seeds = {3, 4};
    options.references = {"none", "dis"};
    options.window = std::chrono::milliseconds(500);
    return options;
  }

  static ClipSource Generated(std::uint64_t seed) {
    return GeneratedClip(
        {.width = 64, .height = 64, .seed = seed, .pairs = kPairs, .frames_per_second = 10});
  }

  static FlowEvaluation Evaluated(const FlowEvaluationOptions& options) {
    absl::StatusOr<FlowEvaluation> evaluation = EvaluateFlow(options);
    EXPECT_TRUE(evaluation.ok()) << evaluation.status();
    return evaluation.ok() ? *std::move(evaluation) : FlowEvaluation();
  }

  static void ExpectRefused(const FlowEvaluationOptions& options, const char* says) {
    int told = 0;
    FlowEvaluationOptions watched = options;
    watched.on_progress = [&](std::int64_t, std::int64_t) { ++told; };
    const absl::Status status = EvaluateFlow(watched).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
    EXPECT_EQ(told, 0) << "before anything runs";
  }
};

void ExpectSame(const StreamScores& a, const StreamScores& b, const std::string& what) {
  EXPECT_EQ(a.loss.predictions, b.loss.predictions) << what;
  EXPECT_EQ(a.loss.learned_from, b.loss.learned_from) << what;
  EXPECT_EQ(a.loss.loss, b.loss.loss) << what;
  EXPECT_EQ(a.flow.error.mean(), b.flow.error.mean()) << what;
}

TEST_F(FlowEvaluationTest, EveryCombinationRunsOnTheClipOfItsSeed) {
  const FlowEvaluation evaluation = Evaluated(Options());
  EXPECT_THAT(evaluation.pairs, ElementsAre(kPairs, kPairs));
  ASSERT_EQ(evaluation.references.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const FlowEvaluation::Reference& reference = evaluation.references[i];
    EXPECT_EQ(reference.name, i < 2 ? "none" : "dis");
    EXPECT_EQ(reference.clip, i % 2);
    EXPECT_EQ(reference.scores.whole.loss.predictions, kPairs);
    EXPECT_EQ(reference.scores.windows.size(), 3u);
    if (i < 2) {
      EXPECT_EQ(reference.scores.whole.loss.ratio(), 1);
    }
  }
  ASSERT_EQ(evaluation.runs.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const FlowEvaluation::Run& run = evaluation.runs[i];
    EXPECT_EQ(run.name.schedule, i < 2 ? "partime" : "one_f_one_b_star");
    EXPECT_EQ(run.name.seed, 3 + i % 2);
    EXPECT_EQ(run.name.stages, 2);
    EXPECT_EQ(run.name.Text(), "refine " + run.name.schedule + " x2");
    EXPECT_THAT(run.cuts, ElementsAre(5));
    const ScoreSummary& loss = run.result.model.whole.loss;
    EXPECT_EQ(loss.predictions, kPairs);
    EXPECT_EQ(loss.learned_from, kPairs) << "tests without learning must not reach back";
    EXPECT_THAT(run.result.updates, ElementsAre(kPairs, kPairs));
    EXPECT_EQ(run.result.dropped, 0);
    EXPECT_EQ(*loss.loss_reference, evaluation.references[2 + i % 2].scores.whole.loss.loss)
        << "on the clip of its seed";
    ASSERT_EQ(run.result.frozen.size(), 3u);
    EXPECT_EQ(run.result.frozen[0].name, "first");
    EXPECT_EQ(run.result.frozen[1].name, "last");
    EXPECT_EQ(run.result.frozen[2].name, Generated(5).name);
    for (const auto& frozen : run.result.frozen) {
      EXPECT_EQ(frozen.scores.loss.predictions, 5);
      EXPECT_EQ(frozen.scores.loss.learned_from, 0);
    }
  }
}

TEST_F(FlowEvaluationTest, ValuesDependNeitherOnTimingNorOnHowManyRunAtOnce) {
  FlowEvaluationOptions options = Options();
  const FlowEvaluation once = Evaluated(options);
  options.jobs = 2;
  const FlowEvaluation at_once = Evaluated(options);
  ASSERT_EQ(once.runs.size(), at_once.runs.size());
  for (std::size_t i = 0; i < once.runs.size(); ++i) {
    const std::string name = once.runs[i].name.Text() + std::to_string(i);
    EXPECT_EQ(at_once.runs[i].name.Text() + std::to_string(i), name);
    const FlowRunResult& a = once.runs[i].result;
    const FlowRunResult& b = at_once.runs[i].result;
    EXPECT_EQ(a.stages.front().staleness, b.stages.front().staleness) << name;
    EXPECT_EQ(a.learning.roll_backs + b.learning.roll_backs, 0) << name;
    ExpectSame(a.model.whole, b.model.whole, name);
    for (std::size_t test = 0; test < a.frozen.size(); ++test) {
      ExpectSame(a.frozen[test].scores, b.frozen[test].scores, name + a.frozen[test].name);
    }
  }
}

// Keeps results in memory.
class MemoryStore final : public FlowResultStore {
 public:
  std::optional<FlowEvaluation::Reference> FindReference(const std::string& name,
                                                         std::size_t clip) const override {
    const auto found = references.find({name, clip});
    return found == references.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<FlowEvaluation::Run> FindRun(const FlowRunName& name) const override {
    const auto found = runs.find(Key(name));
    return found == runs.end() ? std::nullopt : std::optional(found->second);
  }
  absl::Status Keep(const FlowEvaluation::Reference& reference) override {
    ++kept;
    references.insert_or_assign({reference.name, reference.clip}, reference);
    return absl::OkStatus();
  }
  absl::Status Keep(const FlowEvaluation::Run& run) override {
    ++kept;
    runs.insert_or_assign(Key(run.name), run);
    return absl::OkStatus();
  }

  static std::pair<std::string, std::uint64_t> Key(const FlowRunName& name) {
    return {name.Text(), name.seed};
  }

  std::map<std::pair<std::string, std::size_t>, FlowEvaluation::Reference> references;
  std::map<std::pair<std::string, std::uint64_t>, FlowEvaluation::Run> runs;
  int kept = 0;
};

TEST_F(FlowEvaluationTest, FinishedRunsAreNotRepeated) {
  FlowEvaluationOptions options = Options();
  const FlowEvaluation whole = Evaluated(options);
  MemoryStore store;
  options.store = &store;
  options.seeds = {3};
  options.clips = {Generated(3)};
  (void)Evaluated(options);
  EXPECT_EQ(store.kept, 2 + 2) << "two runs, two references";
  options = Options();
  options.store = &store;
  std::int64_t expected = 0;
  options.on_progress = [&](std::int64_t, std::int64_t all) { expected = all; };
  const FlowEvaluation continued = Evaluated(options);
  EXPECT_EQ(store.kept, 4 + 4) << "only the other seed";
  EXPECT_EQ(expected, 2 * kPairs + 2 * (kPairs + 5)) << "its references, runs and first windows";
  ASSERT_EQ(continued.runs.size(), whole.runs.size());
  for (std::size_t i = 0; i < whole.runs.size(); ++i) {
    EXPECT_EQ(continued.runs[i].name.Text(), whole.runs[i].name.Text());
    EXPECT_EQ(continued.runs[i].name.seed, whole.runs[i].name.seed);
    ExpectSame(continued.runs[i].result.model.whole, whole.runs[i].result.model.whole,
               whole.runs[i].name.Text());
    EXPECT_EQ(continued.runs[i].result.model.whole.loss.loss_reference,
              whole.runs[i].result.model.whole.loss.loss_reference);
  }
  for (std::size_t i = 0; i < whole.references.size(); ++i) {
    EXPECT_EQ(continued.references[i].name, whole.references[i].name);
    EXPECT_EQ(continued.references[i].clip, whole.references[i].clip);
    EXPECT_EQ(continued.references[i].losses, whole.references[i].losses);
  }
  (void)Evaluated(options);
  EXPECT_EQ(store.kept, 8);
}

TEST_F(FlowEvaluationTest, RunsThatAreLeftHaveTheCutsAndCostsOfFinishedOnes) {
  FlowEvaluationOptions options = Options();
  options.schedules = {"partime"};
  options.camera_rates = {10};
  options.learner.cuts = {};  // Measured.
  options.references = {};
  MemoryStore store;
  options.store = &store;
  (void)Evaluated(options);
  FlowEvaluation::Run& first = store.runs.at({"refine partime x2 at 10/s", 3});
  first.cuts = {1};
  first.costs = {{.forward = 1}, {.forward = 2}};
  store.runs.erase({"refine partime x2 at 10/s", 4});
  const FlowEvaluation continued = Evaluated(options);
  EXPECT_THAT(continued.runs[1].cuts, ElementsAre(1));
  EXPECT_EQ(TotalOf(continued.runs[1].costs), 3);
}

TEST_F(FlowEvaluationTest, FinishedRunsOfOtherCutsAreRepeated) {
  FlowEvaluationOptions options = Options();
  options.schedules = {"partime"};
  options.references = {};
  MemoryStore store;
  options.store = &store;
  (void)Evaluated(options);
  store.runs.at({"refine partime x2", 4}).cuts = {1};
  store.kept = 0;
  const FlowEvaluation continued = Evaluated(options);
  EXPECT_EQ(store.kept, 1);
  EXPECT_THAT(continued.runs[1].cuts, ElementsAre(5));
}

TEST_F(FlowEvaluationTest, TheSameRunTwiceIsRefused) {
  FlowEvaluationOptions options = Options();
  options.schedules = {"partime", "partime"};
  ExpectRefused(options, "the run refine partime x2 is there twice");
}

TEST_F(FlowEvaluationTest, ASlowerCameraLosesFewer) {
  FlowEvaluationOptions options = Options();
  options.clips = {
      GeneratedClip({.width = 64, .height = 64, .seed = 3, .pairs = 30, .frames_per_second = 10})};
  options.others.clear();
  options.frozen = false;
  options.references.clear();
  options.schedules = {"sequential", "partime"};
  options.learner.cuts.clear();
  options.seeds = {3};
  options.step_ms = 100;
  options.camera_rates = {5, 40, 160};
  const FlowEvaluation evaluation = Evaluated(options);
  ASSERT_EQ(evaluation.runs.size(), 6u);
  std::map<std::string, std::vector<std::int64_t>> dropped;
  for (const FlowEvaluation::Run& run : evaluation.runs) {
    dropped[run.name.schedule].push_back(run.result.dropped);
    EXPECT_NEAR(TotalOf(run.costs), 100, 1e-9);
    ASSERT_TRUE(run.result.streaming.has_value());
    EXPECT_EQ(run.result.streaming->whole.loss.predictions, 30);
    EXPECT_EQ(run.result.model.whole.loss.predictions, 30 - run.result.dropped);
  }
  for (const auto& [schedule, of_rates] : dropped) {
    EXPECT_EQ(of_rates[0], 0) << schedule << ": 10 a second are no trouble at 5";
    EXPECT_LT(of_rates[0], of_rates[1]) << schedule;
    EXPECT_LT(of_rates[1], of_rates[2]) << schedule;
  }
  EXPECT_LT(dropped["partime"][1], dropped["sequential"][1]) << "two stages do more";
}

TEST_F(FlowEvaluationTest, InRealTimeACameraRunsByTheClockOfThisMachine) {
  FlowEvaluationOptions options = Options();
  options.real_time = true;
  options.frozen = false;
  options.schedules = {"sequential", "hybrid"};
  options.learner.cuts.clear();
  options.camera_rates = {0.5 * 1e6, 20};  // The first is beyond any machine.
  const auto begin = std::chrono::steady_clock::now();
  const FlowEvaluation evaluation = Evaluated(options);
  EXPECT_TRUE(evaluation.real_time);
  int paced = 0;
  for (const FlowEvaluation::Run& run : evaluation.runs) {
    ASSERT_TRUE(run.result.streaming.has_value());
    EXPECT_EQ(run.result.streaming->whole.loss.predictions, run.result.pairs);
    EXPECT_EQ(run.result.model.whole.loss.predictions, run.result.pairs - run.result.dropped);
    if (run.name.camera_rate > 20) {
      EXPECT_GT(run.result.dropped, 0);
    } else {
      ++paced;
    }
  }
  const auto of_one = std::chrono::milliseconds(50) * (kPairs - 1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, of_one * paced) << "nothing was simulated";
}

TEST_F(FlowEvaluationTest, WhatDoesNotGoWithRealTimeIsRefused) {
  FlowEvaluationOptions options = Options();
  options.real_time = true;
  ExpectRefused(options, "name the camera's rates");
  options.camera_rates = {10};
  options.jobs = 2;
  ExpectRefused(options, "one job at a time");
  options.jobs = 1;
  options.step_ms = 20;
  ExpectRefused(options, "leave out the cost of a step");
}

TEST_F(FlowEvaluationTest, ProgressRisesToAllThatThereIs) {
  // References, runs, and what learns from the first window alone beside each run.
  constexpr std::int64_t kAll = 4 * kPairs + 4 * kPairs + 4 * 5;
  FlowEvaluationOptions options = Options();
  options.jobs = 2;
  std::mutex mu;
  std::set<std::int64_t> told;
  options.on_progress = [&](std::int64_t done, std::int64_t all) {
    const std::lock_guard lock(mu);
    told.insert(done);
    EXPECT_EQ(all, kAll);
  };
  (void)Evaluated(options);
  EXPECT_EQ(std::ssize(told), kAll);
  EXPECT_EQ(*told.rbegin(), kAll);
}

// Oracles: runs whose clip is the first window alone, and whose learning rate moves no weight.
TEST_F(FlowEvaluationTest, WhatIsForgottenStandsBesideRunsThatLearnedLess) {
  FlowEvaluationOptions options = Options();
  options.references.clear();
  const FlowEvaluation evaluation = Evaluated(options);
  FlowEvaluationOptions first_window = options;
  for (ClipSource& clip : first_window.clips) clip = FirstPairs(clip, 5);
  const FlowEvaluation short_runs = Evaluated(first_window);
  FlowEvaluationOptions nothing = options;
  nothing.learner.optimizer.learning_rate = 0;
  const FlowEvaluation unlearned = Evaluated(nothing);
  for (std::size_t i = 0; i < evaluation.runs.size(); ++i) {
    const std::string name = evaluation.runs[i].name.Text();
    const auto& frozen = evaluation.runs[i].result.frozen;
    ExpectSame(*frozen[0].right_after, short_runs.runs[i].result.frozen[0].scores, name);
    EXPECT_EQ(short_runs.runs[i].result.frozen[0].right_after, std::nullopt)
        << "nothing came after";
    for (std::size_t test = 0; test < frozen.size(); ++test) {
      ExpectSame(*frozen[test].initial, unlearned.runs[i].result.frozen[test].scores, name);
      EXPECT_EQ(frozen[test].other, test == 2);
    }
  }
}

// Updates are not compared: the last ones of partime wait for samples that come after.
TEST_F(FlowEvaluationTest, TestsChangeNothingThatIsPredicted) {
  FlowEvaluationOptions options = Options();
  options.references.clear();
  const FlowEvaluation with = Evaluated(options);
  options.frozen = false;
  const FlowEvaluation without = Evaluated(options);
  for (std::size_t i = 0; i < with.runs.size(); ++i) {
    const FlowRunResult& tested = with.runs[i].result;
    ExpectSame(tested.model.whole, without.runs[i].result.model.whole, with.runs[i].name.Text());
  }
}

TEST_F(FlowEvaluationTest, SequentialHasOneStageAndRunsOnce) {
  FlowEvaluationOptions options = Options();
  options.clips.resize(1);
  options.seeds = {1};
  options.learner.cuts.clear();
  options.schedules = {"sequential"};
  options.stages = {2, 3};
  options.references.clear();
  options.frozen = false;
  const FlowEvaluation evaluation = Evaluated(options);
  ASSERT_EQ(evaluation.runs.size(), 1u);
  EXPECT_EQ(evaluation.runs[0].name.stages, 1);
  EXPECT_EQ(evaluation.runs[0].name.Text(), "refine sequential");
  EXPECT_EQ(evaluation.runs[0].result.model.whole.loss.gain(), std::nullopt) << "without dis";
  EXPECT_TRUE(evaluation.runs[0].result.frozen.empty());
}

// Oracle: evaluations of one seed and one file each.
TEST_F(FlowEvaluationTest, EachSeedBeginsWithItsOwnWeights) {
  const TemporaryFolder folder;
  FlowEvaluationOptions options = Options();
  options.clips.resize(1);
  options.schedules = {"partime"};
  options.references.clear();
  options.frozen = false;
  for (const std::uint64_t start : {8, 9}) {
    options.weights.push_back(folder / (std::to_string(start) + ".safetensors"));
    ASSERT_TRUE(SaveWeights(MakeNamedFlowNetwork({.seed = start}), options.weights.back()).ok());
  }
  const FlowEvaluation both = Evaluated(options);
  ASSERT_EQ(both.runs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    FlowEvaluationOptions alone = options;
    alone.seeds = {options.seeds[i]};
    alone.weights = {options.weights[i]};
    ExpectSame(Evaluated(alone).runs.at(0).result.model.whole, both.runs[i].result.model.whole,
               options.weights[i]);
  }
  EXPECT_NE(both.runs[0].result.model.whole.loss.loss, both.runs[1].result.model.whole.loss.loss);
  options.seeds = {3, 4, 5};
  ExpectRefused(options, "2 files of weights for 3 seeds: name one for all, or one for each");
}

// From the pair on before which it switches, hybrid drains: what sequential learns then it learns
// with fresh weights. So a run that switches early, in the middle or never has another end.
TEST_F(FlowEvaluationTest, HybridSwitchesWhereItIsToldAndInTheMiddleUntold) {
  FlowEvaluationOptions options = Options();
  options.clips.resize(1);
  options.seeds = {3};
  options.schedules = {"hybrid"};
  options.references.clear();
  options.frozen = false;
  std::map<std::int64_t, double> losses;
  for (const std::int64_t switch_at : {std::int64_t{0}, kPairs / 2, std::int64_t{2}, 2 * kPairs}) {
    options.switch_at = switch_at;
    const FlowEvaluation evaluation = Evaluated(options);
    ASSERT_EQ(evaluation.runs.size(), 1u);
    EXPECT_EQ(evaluation.runs[0].switch_at, switch_at == 0 ? kPairs / 2 : switch_at);
    losses[switch_at] = evaluation.runs[0].result.model.whole.loss.loss;
  }
  EXPECT_EQ(losses[0], losses[kPairs / 2]);
  EXPECT_NE(losses[0], losses[2]);
  EXPECT_NE(losses[0], losses[2 * kPairs]);
  options.schedules = {"stale"};
  const FlowEvaluation stale = Evaluated(options);
  EXPECT_EQ(stale.runs[0].switch_at, std::nullopt);
  EXPECT_EQ(stale.runs[0].result.model.whole.loss.loss, losses[2 * kPairs]);
}

// What a learner of the next frame says when it is fed by hand: with a clip's pictures in threes,
// then, learning nothing, with the first `tested` of them again.
std::vector<ModelPrediction> ForetoldByHand(const LearnerOptions& options,
                                            const FlowTaskOptions& task, const ClipSource& source,
                                            std::size_t tested) {
  std::mutex mu;
  std::vector<ModelPrediction> made;
  auto learner = MakeFlowLearner(options, task, [&](ModelPrediction prediction) {
    const std::lock_guard lock(mu);
    made.push_back(std::move(prediction));
  });
  EXPECT_TRUE(learner.ok()) << learner.status();
  std::vector<ClipPair> pairs;
  const std::unique_ptr<Clip> clip = *source.open();
  while (std::optional<ClipPair> pair = *clip->Next()) pairs.push_back(*std::move(pair));
  const auto admit = [&](std::size_t pair) {
    const Sample pictures{.previous = *pairs[pair].previous,
                          .current = *pairs[pair].current,
                          .before = *pairs[pair - 1].previous};
    EXPECT_TRUE((*learner)->Admit(pictures).ok());
  };
  for (std::size_t i = 1; i < pairs.size(); ++i) admit(i);
  (*learner)->LearnFromEvery(0);
  for (std::size_t i = 1; i <= tested; ++i) admit(i);
  EXPECT_TRUE((*learner)->Drain().ok());
  return made;
}

// Of the predictions from `from` on, before `to`.
double MeanOf(const std::vector<ModelPrediction>& made, std::int64_t from, std::int64_t to,
              float ModelPrediction::*loss) {
  double sum = 0;
  for (std::int64_t i = from; i < to; ++i) sum += made.at(i).*loss;
  return sum / static_cast<double>(to - from);
}

TEST_F(FlowEvaluationTest, TheNextFrameIsScoredByWhatTheLearnerSaysOfIt) {
  constexpr std::int64_t kThrees = kPairs - 1;  // The first pair has no picture before.
  FlowEvaluationOptions options = Options();
  options.task.next_frame = true;
  options.smoothness = options.task.loss.smoothness;
  options.clips.resize(1);
  options.seeds = {3};
  options.schedules = {"partime"};
  options.references = {"none"};
  const FlowEvaluation evaluation = Evaluated(options);
  EXPECT_TRUE(evaluation.next_frame);
  EXPECT_THAT(evaluation.pairs, ElementsAre(kThrees));

  LearnerOptions by_hand = options.learner;
  by_hand.width = by_hand.height = 64;
  by_hand.schedule = "partime";
  by_hand.seed = 3;
  const auto made = ForetoldByHand(by_hand, options.task, options.clips[0], /*tested=*/5);
  const FlowRunResult& result = evaluation.runs.at(0).result;
  const ScoreSummary& whole = result.model.whole.loss;
  EXPECT_EQ(whole.predictions, kThrees);
  EXPECT_NEAR(whole.loss, MeanOf(made, 0, kThrees, &ModelPrediction::loss), 1e-9);
  const double newest_again = MeanOf(made, 0, kThrees, &ModelPrediction::loss_no_motion);
  EXPECT_NEAR(whole.loss_no_motion, newest_again, 1e-9);
  EXPECT_NEAR(result.frozen.at(0).scores.loss.loss,
              MeanOf(made, kThrees, kThrees + 5, &ModelPrediction::loss), 1e-9);
  EXPECT_EQ(result.model.whole.flow.error.mean(), std::nullopt) << "no flow is scored";
  EXPECT_EQ(result.model.whole.flow.reconstructed.mean(), std::nullopt);
  const StreamScores& none = evaluation.references.at(0).scores.whole;
  EXPECT_NEAR(none.loss.loss, newest_again, 1e-5);
  EXPECT_EQ(none.loss.ratio(), 1);
}

TEST_F(FlowEvaluationTest, WhatDoesNotGoWithTheNextFrameIsRefused) {
  FlowEvaluationOptions options = Options();
  options.task.next_frame = true;
  options.references = {"none", "dis"};
  ExpectRefused(options, "the reference dis says how things moved");
  options.references = {"none"};
  options.camera_rates = {10};
  ExpectRefused(options, "leave out the camera's rates");
  options.camera_rates.clear();
  options.task.loss.occlusion = true;
  ExpectRefused(options, "with occlusion");
  options.task.loss.occlusion = false;
  std::mt19937 random(1);
  options.clips[1] =
      MadeClip("short", 64, 64, RandomPairs(1, 64, 64, std::chrono::milliseconds(100), random));
  ExpectRefused(options, "short has no three pictures");
}

TEST_F(FlowEvaluationTest, WhatCannotBeRunIsRefusedBeforeAnythingRuns) {
  FlowEvaluationOptions options = Options();
  options.schedules = {"local"};
  ExpectRefused(options, "local needs the network levels");
  options = Options();
  options.schedules = {"partime", "magic"};
  ExpectRefused(options, "magic");
  options = Options();
  options.networks = {"gpt"};
  ExpectRefused(options, "gpt");
  options = Options();
  options.references = {"none", "raft"};
  ExpectRefused(options, "raft");
  options = Options();
  options.schedules = {"hybrid"};
  options.camera_rates = {10};
  ExpectRefused(options, "cannot run behind a camera");
  options = Options();
  options.clips[1] = MadeClip("empty", 64, 64, {});
  ExpectRefused(options, "empty has no pair of pictures");
}

TEST_F(FlowEvaluationTest, ATornClipIsToldBeforeAnythingRuns) {
  FlowEvaluationOptions options = Options();
  std::mt19937 random(1);
  options.clips[1] =
      MadeClip("torn", 64, 64, RandomPairs(9, 64, 64, std::chrono::milliseconds(100), random), 7);
  int told = 0;
  options.on_progress = [&](std::int64_t, std::int64_t) { ++told; };
  EXPECT_EQ(EvaluateFlow(options).status(), absl::DataLossError("the clip is torn"));
  EXPECT_EQ(told, 0);
}

TEST_F(FlowEvaluationTest, AFailureNamesItsRun) {
  FlowEvaluationOptions options = Options();
  std::mt19937 random(1);
  options.others = {
      MadeClip("torn", 64, 64, RandomPairs(9, 64, 64, std::chrono::milliseconds(100), random), 2)};
  const absl::Status status = EvaluateFlow(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "refine partime x2: the clip is torn");
}

TEST_F(FlowEvaluationTest, AskedToEndItIsCancelled) {
  for (const std::int64_t after : {1, 60}) {  // In a reference; in a run.
    FlowEvaluationOptions options = Options();
    std::stop_source stop;
    options.stop = stop.get_token();
    options.jobs = 2;
    options.on_progress = [&](std::int64_t done, std::int64_t) {
      if (done == after) stop.request_stop();
    };
    EXPECT_EQ(EvaluateFlow(options).status().code(), absl::StatusCode::kCancelled) << after;
  }
}

}  // namespace
}  // namespace millrace::pipeline
