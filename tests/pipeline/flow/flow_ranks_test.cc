// A learner of optical flow whose stages run on several ranks: predictions, checkpoints and answers
// are those of one process.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"
#include "pipeline/flow/flow_follower.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/ranks/rank_task.h"
#include "tests/pipeline/support/fake_rank_group.h"
#include "tests/pipeline/support/moving_waves.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

// What a learner has done.
struct Learned {
  std::vector<ModelPrediction> predictions;
  ModelPrediction answer;  // Of Predict(), after the end.
  std::vector<std::int64_t> updates;
  LearningFigures figures;
  std::map<std::string, std::string> checkpoint;  // The stages' files, by name.
};

std::string ContentOf(const std::filesystem::path& path) {
  std::stringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

// Threads that follow in the place of other hosts.
class FakeHosts {
 public:
  // When a rank is lost.
  struct Loss {
    int rank = 0;
    std::int64_t after_messages = -1;  // -1: never.
  };

  ~FakeHosts() {
    const MutexLock lock(mu_);
    for (const auto& wires : wires_) wires->of(0).Abort(absl::CancelledError("the test ends"));
  }

  std::unique_ptr<RankGroup> Join(int size, const Loss& loss) {
    const MutexLock lock(mu_);
    const auto epoch = static_cast<std::int64_t>(wires_.size()) + 1;
    wires_.push_back(std::make_unique<FakeWires>(size, /*seed=*/3));
    FakeWires& wires = *wires_.back();
    if (loss.after_messages >= 0) wires.LoseAfter(loss.after_messages, loss.rank);
    for (int rank = 1; rank < size; ++rank) {
      threads_.emplace_back([&wires, rank, size, epoch, is_lost = loss.after_messages >= 0] {
        FakeRankGroup group(wires, rank, size, epoch);
        const auto task = ReceiveTask(group.wires());
        const absl::Status end = task.ok() ? FollowFlow(group, *task) : task.status();
        EXPECT_NE(end.ok(), is_lost) << end;
      });
    }
    return std::make_unique<FakeRankGroup>(wires, 0, size, epoch);
  }

 private:
  Mutex mu_;
  std::vector<std::unique_ptr<FakeWires>> wires_ ABSL_GUARDED_BY(mu_);
  std::vector<std::jthread> threads_;
};

struct Case {
  std::string name;
  LearnerOptions options;
  FlowTaskOptions task = {};
};

class FlowRanksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) / ("flow_ranks_" + std::to_string(::getpid()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The leader runs on this thread. `other_ranks` follow it.
  [[nodiscard]] Learned Learn(const Case& learns, const std::vector<int>& ranks) {
    std::filesystem::remove_all(folder_);
    LearnerOptions options = learns.options;
    options.width = options.height = kWavesSide;
    options.checkpoints = {.folder = folder_.string(), .every = 20};
    options.copy_every = 10;
    options.rank_of_stage = ranks;
    FakeHosts hosts;
    LearnerHooks hooks;
    hooks.join_ranks = [&](const JoinRequest& request) {
      EXPECT_EQ(request.size, ranks.front() + 1);
      return hosts.Join(request.size, {});
    };
    Learned learned;
    auto learner = MakeFlowLearner(
        options, learns.task,
        [&](ModelPrediction made) { learned.predictions.push_back(std::move(made)); }, hooks);
    EXPECT_TRUE(learner.ok()) << learner.status();
    if (learner.ok()) Finish(**learner, learned);
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_)) {
      if (file.path().extension() != ".safetensors") continue;
      learned.checkpoint[file.path().lexically_relative(folder_)] = ContentOf(file.path());
    }
    return learned;
  }

  static Sample Moving(int i, std::vector<std::uint8_t>& previous,
                       std::vector<std::uint8_t>& current) {
    previous = Waves(1.3 * i);
    current = Waves(1.3 * (i + 1));
    return {.previous = previous, .current = current};
  }

  // Waits for the other ranks, too.
  static absl::Status AwaitRoom(Learner& learner) {
    while (true) {
      absl::Status room = learner.AwaitRoom();
      if (room.ok() || learner.interruption().ok()) return room;
      std::this_thread::yield();
    }
  }

 private:
  static bool HasRoom(Learner& learner) {
    const absl::Status room = AwaitRoom(learner);
    EXPECT_TRUE(room.ok()) << room;
    return room.ok();
  }

  static void Finish(Learner& learner, Learned& learned) {
    constexpr int kSamples = 60;
    std::vector<std::uint8_t> previous;
    std::vector<std::uint8_t> current;
    for (int i = 0; i < kSamples; ++i) {
      ASSERT_TRUE(HasRoom(learner));
      if (i == 25) {
        ASSERT_TRUE(learner.SetLearningRate(5e-5).ok());
      }
      if (i == 40) learner.Freeze(true);
      if (i == 50) learner.Freeze(false);
      const auto admitted = learner.Admit(Moving(i, previous, current));
      ASSERT_TRUE(admitted.ok()) << admitted.status();
    }
    const absl::Status drained = learner.Drain();
    ASSERT_TRUE(drained.ok()) << drained;
    learned.updates = learner.updates();
    learned.figures = learner.learning();
    auto answer = learner.Predict(Moving(70, previous, current));
    ASSERT_TRUE(answer.ok()) << answer.status();
    learned.answer = *std::move(answer);
  }

 protected:
  std::filesystem::path folder_;
};

class EveryFlowRanks : public FlowRanksTest, public ::testing::WithParamInterface<Case> {};

TEST_P(EveryFlowRanks, LearnsAsOneProcess) {
  const Learned one = Learn(GetParam(), {});
  ASSERT_EQ(one.predictions.size(), 60U);
  EXPECT_FALSE(one.checkpoint.empty());
  const int stages = GetParam().options.stages;
  std::vector<int> last_alone(stages, 1);
  last_alone.back() = 0;
  std::vector<int> each(stages);
  for (int i = 0; i < stages; ++i) each[i] = stages - 1 - i;
  for (const std::vector<int>& ranks : {last_alone, each}) {
    SCOPED_TRACE(testing::PrintToString(ranks));
    const Learned several = Learn(GetParam(), ranks);
    ASSERT_EQ(several.predictions.size(), one.predictions.size());
    for (std::size_t i = 0; i < one.predictions.size(); ++i) {
      const ModelPrediction& a = several.predictions[i];
      const ModelPrediction& b = one.predictions[i];
      ASSERT_EQ(*a.flow, *b.flow) << "prediction " << i;
      EXPECT_EQ(a.loss, b.loss) << i;
      EXPECT_EQ(a.updates, b.updates) << i;
      EXPECT_EQ(a.skipped, b.skipped) << i;
    }
    EXPECT_EQ(*several.answer.flow, *one.answer.flow);
    EXPECT_EQ(several.updates, one.updates);
    EXPECT_EQ(several.checkpoint, one.checkpoint);
  }
}

std::vector<Case> AllCases() {
  const std::vector<int> cuts = {2, 5};
  LearningOptions watchful;
  watchful.divergence.window = 10;
  std::vector<Case> cases;
  for (const char* schedule : {"one_f_one_b_star", "partime", "pipedream"}) {
    cases.push_back({schedule,
                     {.schedule = schedule, .stages = 3, .cuts = cuts},
                     {.network = "flow", .learning = watchful}});
  }
  cases.push_back({"refine",
                   {.schedule = "one_f_one_b_star", .stages = 3, .cuts = cuts},
                   {.network = "refine", .learning = watchful}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EveryFlowRanks, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

// The moment of a roll-back depends on timing, so the bits do, too.
TEST_F(FlowRanksTest, RollBackDivergedWeightsOnAllRanks) {
  Case diverges{"diverges",
                {.schedule = "one_f_one_b_star",
                 .stages = 3,
                 .cuts = {2, 5},
                 .optimizer = {.learning_rate = 0.3, .clip_update = 0}},
                {.network = "flow"}};
  diverges.task.learning.divergence.window = 10;
  const Learned learned = Learn(diverges, {2, 1, 0});
  EXPECT_EQ(learned.predictions.size(), 60U);
  EXPECT_GT(learned.figures.roll_backs, 0);
  EXPECT_TRUE(learned.answer.finite);
}

// A learner that has lost a rank and gone on.
struct LostAndGoneOn {
  std::map<std::int64_t, int> frames;                   // Of the admitted samples.
  std::map<std::int64_t, ModelPrediction> predictions;  // By sample.
  std::int64_t first_after = -1;                        // The first sample after the loss.
};

class FlowRanksLossTest : public FlowRanksTest {
 protected:
  [[nodiscard]] LearnerOptions OptionsOf(const char* schedule) const {
    LearnerOptions options{.width = kWavesSide,
                           .height = kWavesSide,
                           .schedule = schedule,
                           .stages = 3,
                           .cuts = {2, 5},
                           .rank_of_stage = {2, 1, 0},
                           .copy_every = 10};
    options.checkpoints = {.folder = folder_.string(), .every = 10, .keep = 100};
    return options;
  }

  void LoseARank(const LearnerOptions& options, std::int64_t after_messages, LostAndGoneOn& run) {
    constexpr int kFrames = 120;
    std::filesystem::remove_all(folder_);
    FakeHosts hosts;
    int groups = 0;
    LearnerHooks hooks;
    hooks.join_ranks = [&](const JoinRequest& request) {
      const bool first = groups++ == 0;
      return hosts.Join(request.size, {.rank = 1, .after_messages = first ? after_messages : -1});
    };
    const auto made = MakeFlowLearner(
        options, task_, [&](ModelPrediction p) { run.predictions[p.sample] = std::move(p); },
        hooks);
    ASSERT_TRUE(made.ok()) << made.status();
    Learner& learner = **made;
    for (int frame = 0; frame < kFrames; ++frame) {
      ASSERT_NO_FATAL_FAILURE(Admit(learner, frame, run));
    }
    ASSERT_TRUE(learner.Drain().ok());
    ASSERT_EQ(learner.ranks()->lost, 1);
    ASSERT_GE(run.first_after, 0);
  }

  // The names of the good states, and an empty one: without checkpoints it starts again.
  [[nodiscard]] std::vector<std::string> Starts() const {
    std::vector<std::string> starts = {""};
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("checkpoint-")) starts.push_back(name);
    }
    return starts;
  }

  // Whether one process that starts there predicts the same after the loss.
  void PredictAlone(LearnerOptions options, const std::string& start, const LostAndGoneOn& run,
                    bool& same) {
    const std::filesystem::path copy = folder_.string() + "-copy";
    std::filesystem::create_directories(copy);
    if (!start.empty()) {
      std::filesystem::copy(folder_ / start, copy / start,
                            std::filesystem::copy_options::recursive);
    }
    options.rank_of_stage = {};
    options.checkpoints.folder = copy.string();
    std::vector<ModelPrediction> expected;
    const auto oracle = MakeFlowLearner(
        options, task_, [&](ModelPrediction p) { expected.push_back(std::move(p)); });
    ASSERT_TRUE(oracle.ok()) << oracle.status();
    for (auto at = run.frames.find(run.first_after); at != run.frames.end(); ++at) {
      ASSERT_TRUE((*oracle)->AwaitRoom().ok());
      ASSERT_TRUE((*oracle)->Admit(Moving(at->second, previous_, current_)).ok());
    }
    ASSERT_TRUE((*oracle)->Drain().ok());
    std::filesystem::remove_all(copy);
    same = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto found = run.predictions.find(run.first_after + static_cast<std::int64_t>(i));
      ASSERT_NE(found, run.predictions.end());
      same = same && *found->second.flow == *expected[i].flow;
    }
  }

 private:
  void Admit(Learner& learner, int frame, LostAndGoneOn& run) {
    const absl::Status room = AwaitRoom(learner);
    ASSERT_TRUE(room.ok()) << room;
    const auto sample = learner.Admit(Moving(frame, previous_, current_));
    if (!sample.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(sample.status())) << sample.status();
      EXPECT_THAT(learner.interruption().message(), HasSubstr("rank 1 is lost"));
      return;
    }
    EXPECT_EQ(*sample, run.frames.empty() ? 0 : run.frames.rbegin()->first + 1);
    run.frames[*sample] = frame;
    if (learner.ranks()->groups == 2 && run.first_after < 0) run.first_after = *sample;
  }

  const FlowTaskOptions task_{.network = "refine", .learning = {.divergence = {.window = 10}}};
  std::vector<std::uint8_t> previous_;
  std::vector<std::uint8_t> current_;
};

// After a loss, one process that starts from a good state predicts the same.
TEST_F(FlowRanksLossTest, GoesOnFromGoodWeightsAfterARankIsLost) {
  int gone_on_from_learned = 0;
  for (const std::int64_t after : {1, 200, 400}) {
    for (const char* schedule : {"one_f_one_b_star", "partime"}) {
      SCOPED_TRACE(absl::StrCat(schedule, ", lost after ", after, " messages"));
      const LearnerOptions options = OptionsOf(schedule);
      LostAndGoneOn run;
      ASSERT_NO_FATAL_FAILURE(LoseARank(options, after, run));
      int as_one = 0;
      for (const std::string& start : Starts()) {
        bool same = false;
        ASSERT_NO_FATAL_FAILURE(PredictAlone(options, start, run, same));
        as_one += same ? 1 : 0;
        gone_on_from_learned += same && !start.empty() ? 1 : 0;
      }
      EXPECT_EQ(as_one, 1);
    }
  }
  EXPECT_GT(gone_on_from_learned, 0);
}

TEST_F(FlowRanksTest, WhatTheyCannotDoIsRefusedInWords) {
  const auto refusal = [](const LearnerOptions& options, const FlowTaskOptions& task = {}) {
    LearnerOptions complete = options;
    complete.width = complete.height = kWavesSide;
    complete.rank_of_stage = {1, 0};
    const absl::Status refused = CheckFlowOptions(complete, task);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    return std::string(refused.message());
  };
  EXPECT_THAT(refusal({.schedule = "auto", .frames_per_second = 10}),
              HasSubstr("several hosts cannot have the schedule auto"));
  EXPECT_THAT(refusal({.schedule = "local"}, {.network = "levels"}),
              HasSubstr("cannot have the schedule local"));
  EXPECT_THAT(refusal({.devices = {"cuda"}}), HasSubstr("cannot have stages on GPUs"));
  LearnerOptions three{.width = kWavesSide, .height = kWavesSide, .stages = 3};
  three.rank_of_stage = {1, 0};
  const auto refused = MakeFlowLearner(three, {}, [](ModelPrediction) {});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("name one for each of 3 stages"));
}

}  // namespace
}  // namespace millrace::pipeline
