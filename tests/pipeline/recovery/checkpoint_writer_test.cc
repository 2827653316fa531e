// A learner resumes from its newest checkpoint after any kind of end.
#include "pipeline/recovery/checkpoint_writer.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/checkpoint/checkpoint_facts.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/learner.h"
#include "pipeline/models/coarse_to_fine_network.h"
#include "pipeline/models/open_flow_network.h"
#include "tests/pipeline/support/flow_modules.h"
#include "tests/pipeline/support/moving_waves.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct FlowOptions {
  LearnerOptions learner;
  FlowTaskOptions task = {};
};

// A learner and its predictions.
class TestLearner {
 public:
  explicit TestLearner(const FlowOptions& options, const LearnerHooks& hooks = {}) {
    auto made = MakeFlowLearner(
        options.learner, options.task,
        [this](const ModelPrediction& prediction) {
          const std::lock_guard lock(mu_);
          predictions_.push_back(prediction);
        },
        hooks);
    status_ = made.status();
    if (made.ok()) learner_ = *std::move(made);
  }

  // Shows it the pictures that follow those before, as one process after the other would see them.
  void Learn(std::int64_t samples) {
    for (std::int64_t i = 0; i < samples; ++i) {
      ASSERT_TRUE(learner_->AwaitRoom().ok());
      const double shift = 0.7 * static_cast<double>(next_++ % 40);
      ASSERT_TRUE(learner_->Admit({Waves(shift), Waves(shift + 0.7)}).ok());
    }
  }
  void StartAt(std::int64_t picture) { next_ = picture; }

  std::vector<ModelPrediction> End() {
    EXPECT_TRUE(learner_->Drain().ok());
    return predictions_;
  }
  Learner* operator->() const { return learner_.get(); }
  [[nodiscard]] const absl::Status& status() const { return status_; }

 private:
  std::mutex mu_;
  std::vector<ModelPrediction> predictions_;
  absl::Status status_;
  std::int64_t next_ = 0;
  std::unique_ptr<Learner> learner_;
};

class CheckpointWriterTest : public ::testing::Test {
 public:
  ~CheckpointWriterTest() override { fs::remove_all(folder_); }

 protected:
  CheckpointWriterTest()
      : folder_(fs::path(::testing::TempDir()) /
                (std::string("checkpoint_writer_test_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                 std::to_string(::getpid()))) {}

  [[nodiscard]] FlowOptions Options() const {
    return {
        .learner = {.width = kWavesSide,
                    .height = kWavesSide,
                    .schedule = "sequential",
                    .stages = 1,
                    .copy_every = 10,
                    .checkpoints = {.folder = folder_.string(), .every = 20}},
        .task = {.network = "flow", .learning = {.divergence = {.window = 10, .max_refused = 5}}}};
  }
  [[nodiscard]] FlowOptions WithoutCheckpoints() const {
    FlowOptions options = Options();
    options.learner.checkpoints = {};
    return options;
  }

  const fs::path folder_;
};

TEST_F(CheckpointWriterTest, GoesOnBitForBitWhereItEnded) {
  TestLearner whole(WithoutCheckpoints());
  whole.Learn(40);
  const std::vector<ModelPrediction> expected = whole.End();
  std::vector<std::int64_t> updates;
  {
    TestLearner first(Options());
    EXPECT_EQ(first->resumption().checkpoint, "");
    first.Learn(25);
    first.End();
    updates = first->updates();
  }
  TestLearner second(Options());
  EXPECT_THAT(second->resumption().checkpoint, HasSubstr("checkpoint-000000000024"));
  EXPECT_EQ(second->resumption().first_sample, 25);
  EXPECT_EQ(second->updates(), updates) << "they go on, too";
  second.StartAt(25);
  second.Learn(15);
  const std::vector<ModelPrediction> predicted = second.End();
  ASSERT_EQ(predicted.size(), 15U);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    EXPECT_EQ(predicted[i].sample, expected[25 + i].sample);
    EXPECT_EQ(predicted[i].updates, expected[25 + i].updates);
    EXPECT_EQ(*predicted[i].flow, *expected[25 + i].flow);
  }
}

// From the start of each process on, a caller can ask how much a crash would lose.
TEST_F(CheckpointWriterTest, SaysUntilWhenAllIsKeptBeforeItHasWrittenOne) {
  const TestLearner without(WithoutCheckpoints());
  EXPECT_FALSE(without->learning().checkpoints.kept_until.has_value());
  for (int process = 0; process < 2; ++process) {
    TestLearner learner(Options());
    EXPECT_EQ(learner->learning().checkpoints.written, 0);
    EXPECT_GT(learner->learning().checkpoints.kept_until, std::chrono::nanoseconds(0));
    learner.Learn(5);
    learner.End();
    EXPECT_EQ(learner->learning().checkpoints.written, 1);
    EXPECT_GT(learner->learning().checkpoints.writing, std::chrono::nanoseconds(0));
    EXPECT_GT(learner->learning().checkpoints.kept_until, std::chrono::nanoseconds(0));
  }
}

// A crash is a learner that is never drained.
TEST_F(CheckpointWriterTest, WhileItLearnsItKeepsWhatHasProvenGood) {
  {
    TestLearner first(Options());
    first.Learn(60);
  }
  const TestLearner second(Options());
  ASSERT_TRUE(second.status().ok()) << second.status();
  const std::int64_t first_sample = second->resumption().first_sample;
  EXPECT_GE(first_sample, 20) << "it began to keep them as soon as one was due";
  EXPECT_LE(first_sample, 50) << "the last window has not proven anything yet";
  EXPECT_EQ(first_sample % 10, 0) << "a copy is taken every tenth sample";
}

TEST_F(CheckpointWriterTest, KeepsOthersOut) {
  TestLearner first(Options());
  const TestLearner second(Options());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use by another stream"));
  first.End();
}

TEST_F(CheckpointWriterTest, GoesOnLearningWhereNothingCanBeWritten) {
  std::mutex mu;
  std::vector<absl::Status> told;
  TestLearner learner(Options(), {.on_write = [&](const CheckpointWritten& written) {
                        const std::lock_guard lock(mu);
                        told.push_back(written.status);
                      }});
  fs::remove_all(folder_);
  std::ofstream(folder_) << "no folder";
  learner.Learn(80);
  EXPECT_EQ(learner.End().size(), 80U);
  EXPECT_GE(learner->learning().checkpoints.failed, 2) << "it tries again";
  EXPECT_EQ(learner->learning().checkpoints.written, 0);
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(std::string(told.front().message()), HasSubstr(folder_.string()));
}

TEST_F(CheckpointWriterTest, OneThatIsAskedForAnswersAllRequestsAndIsKept) {
  std::mutex mu;
  std::vector<CheckpointWritten> told;
  FlowOptions options = Options();
  options.learner.checkpoints.every = 1'000'000;  // None but what is asked for.
  options.learner.checkpoints.keep = 1;
  TestLearner learner(options, {.on_write = [&](const CheckpointWritten& written) {
                        const std::lock_guard lock(mu);
                        told.push_back(written);
                      }});
  EXPECT_EQ(learner->AskForCheckpoint().value(), 1);
  EXPECT_EQ(learner->AskForCheckpoint().value(), 2);
  const auto is_written = [&] {
    const std::lock_guard lock(mu);
    return !told.empty();
  };
  while (!is_written()) learner.Learn(1);
  learner.Learn(1);  // At least, so that there is something to write at the end.
  learner.End();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(told[0].status.ok()) << told[0].status;
  EXPECT_EQ(told[0].answers, 2);
  EXPECT_TRUE(IsKept((folder_ / told[0].name).string()));
  EXPECT_EQ(told[1].answers, 0) << "the one at the end";
  EXPECT_FALSE(IsKept((folder_ / told[1].name).string()));
}

TEST_F(CheckpointWriterTest, BeginsAnewWhereItsOnlyCheckpointIsDamagedAndKeepsIt) {
  {
    TestLearner first(Options());
    first.Learn(25);
    first.End();
  }
  const std::string damaged = "checkpoint-000000000024/stage-1.safetensors";
  fs::resize_file(folder_ / damaged, 1000);
  for (int process = 0; process < 2; ++process) {
    TestLearner next(Options());
    EXPECT_EQ(next->resumption().refused.size(), process == 0 ? 1U : 0U);
    EXPECT_EQ(next->resumption().first_sample, 25 * process);
    next.Learn(25);
    next.End();
  }
  std::vector<fs::path> aside;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with("damaged-")) aside.push_back(entry.path());
  }
  ASSERT_EQ(aside.size(), 1U);
  EXPECT_EQ(fs::file_size(aside[0] / damaged), 1000U);
}

TEST_F(CheckpointWriterTest, GoesOnFromOneThatCouldNotBeReadOnceItCanBe) {
  {
    TestLearner first(Options());
    first.Learn(25);
    first.End();
  }
  const fs::path stage = folder_ / "checkpoint-000000000024" / "stage-1.safetensors";
  fs::rename(stage, folder_ / "stage");
  fs::create_directory(stage);
  {
    TestLearner second(Options());
    ASSERT_EQ(second->resumption().refused.size(), 1U);
    EXPECT_EQ(second->resumption().first_sample, 0);
    second.Learn(10);
    second.End();
  }
  fs::remove(stage);
  fs::rename(folder_ / "stage", stage);
  const TestLearner third(Options());
  EXPECT_EQ(third->resumption().first_sample, 25);
}

TEST_F(CheckpointWriterTest, RefusesWhatTheSameNetworkLearnedForAnotherTask) {
  {
    TestLearner first(Options());
    first.Learn(25);
    first.End();
  }
  FlowOptions options = Options();
  options.task.next_frame = true;
  const TestLearner second(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("was learned for optical flow where this is the next frame; configure that "
                        "again, or another folder to start from the beginning"));
}

// Weights that are whole, and finite, and worth nothing: every flow of theirs leaves the picture.
TEST_F(CheckpointWriterTest, BeginsAnewWhereACheckpointIsBadItself) {
  {
    TestLearner first(Options());
    first.Learn(25);
    first.End();
  }
  {
    const LayerChain chain = MakeCoarseToFineNetwork();
    auto checkpoints = *Checkpoints::Open({.folder = folder_.string()}, chain);
    Checkpoint bad = *checkpoints.Read()->newest;
    for (LayerState& layer : bad.network.layers) {
      for (at::Tensor& parameter : layer.parameters) parameter.fill_(0.5);
    }
    bad.network.sample = 99;
    ASSERT_TRUE(checkpoints.Write(bad).ok());
  }
  TestLearner second(Options());
  EXPECT_EQ(second->resumption().first_sample, 100);
  second.Learn(40);
  const std::vector<ModelPrediction> predicted = second.End();
  EXPECT_EQ(second->learning().roll_backs, 1);
  EXPECT_NE(predicted.front().skipped, SkipReason::kNone);
  EXPECT_EQ(predicted.back().skipped, SkipReason::kNone);
}

// Weights that go wrong are tried once more; then it is they that are bad.
TEST_F(CheckpointWriterTest, FallsBackToTheStartWhereACheckpointGoesWrongTwice) {
  {
    TestLearner first(Options());
    first.Learn(25);
    first.End();
  }
  FlowOptions options = Options();
  options.learner.optimizer.learning_rate = 0.5;  // Tears any network apart.
  TestLearner second(options);
  const auto is_zero = [](const ModelPrediction& prediction) {
    return std::ranges::all_of(*prediction.flow, [](float x) { return x == 0; });
  };
  std::vector<std::size_t> came_back;  // The samples of this process that met older weights first.
  for (std::size_t i = 0; i < 3000 && came_back.size() < 2; ++i) {
    const std::int64_t before = second->learning().roll_backs;
    second.Learn(1);
    if (second->learning().roll_backs > before) came_back.push_back(i);
  }
  const std::vector<ModelPrediction> predicted = second.End();
  ASSERT_EQ(came_back.size(), 2U);
  EXPECT_FALSE(is_zero(predicted[came_back[0]])) << "the checkpoint's, which see motion";
  EXPECT_TRUE(is_zero(predicted[came_back[1]])) << "those that it would have begun with";
}

TEST_F(CheckpointWriterTest, AnotherOptimizerIsNamedUnlessItKeepsTheSame) {
  FlowOptions options = Options();
  {
    TestLearner first(options);
    first.Learn(25);
    first.End();
  }
  using Kind = OptimizerOptions::Kind;
  std::int64_t learned = 25;
  // AdamW keeps what Adam keeps.
  for (const auto& [kind, momentum, other] : {std::tuple(Kind::kAdam, 0.0, "rmsprop"),
                                              {Kind::kAdamW, 0.0, ""},
                                              {Kind::kSgd, 0.0, "adam"},
                                              {Kind::kSgd, 0.9, "sgd without momentum"}}) {
    options.learner.optimizer.kind = kind;
    options.learner.optimizer.momentum = momentum;
    TestLearner next(options);
    ASSERT_TRUE(next.status().ok()) << next.status();
    EXPECT_EQ(next->resumption().first_sample, learned);
    EXPECT_EQ(next->resumption().other_optimizer, other);
    next.StartAt(learned);
    next.Learn(5);
    learned += 5;
    EXPECT_THAT(next.End(), testing::Each(testing::Field(&ModelPrediction::finite, true)));
    EXPECT_EQ(next->updates(), std::vector<std::int64_t>{learned}) << "the count goes on";
  }
}

// The first optimizer hardly moves the weights, but fills its state. A learner without a past is
// the oracle of the second. RMSprop and SGD with momentum both keep one number of each weight.
TEST_F(CheckpointWriterTest, AnotherOptimizerLearnsAsIfItHadNoPast) {
  FlowOptions options = Options();
  options.learner.optimizer.learning_rate = 1e-30;
  {
    TestLearner first(options);
    first.Learn(25);
    first.End();
  }
  options.learner.optimizer = {
      .kind = OptimizerOptions::Kind::kSgd, .learning_rate = 0.01, .momentum = 0.9};
  FlowOptions without_past = options;
  without_past.learner.checkpoints = {};
  std::vector<ModelPrediction> predicted[2];
  for (const bool has_past : {false, true}) {
    TestLearner second(has_past ? options : without_past);
    second.StartAt(25);
    second.Learn(5);
    predicted[has_past ? 1 : 0] = second.End();
  }
  float fastest = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t k = 0; k < predicted[0][i].flow->size(); ++k) {
      const float expected = (*predicted[0][i].flow)[k];
      ASSERT_NEAR((*predicted[1][i].flow)[k], expected, 1e-5) << "prediction " << i;
      fastest = std::max(fastest, std::abs(expected));
    }
  }
  EXPECT_GT(fastest, 1e-3) << "it learned";
}

// What made one optimizer fail says nothing about the rate of another.
TEST_F(CheckpointWriterTest, AnotherOptimizerHasTheWholeRate) {
  FlowOptions options = Options();
  options.learner.optimizer.learning_rate = 0.5;  // Tears any network apart.
  double share = 1;
  {
    TestLearner first(options);
    while (share == 1) {
      first.Learn(1);
      share = first->learning().rate_scale;
    }
    first.End();
  }
  {
    TestLearner same(options);
    EXPECT_LT(same->learning().rate_scale, 1);
    same.End();
  }
  options.learner.optimizer.kind = OptimizerOptions::Kind::kAdam;
  TestLearner other(options);
  EXPECT_EQ(other->learning().rate_scale, 1);
}

// A seed that is not in force would be a lie in the configuration.
TEST_F(CheckpointWriterTest, RefusesAnotherSeed) {
  {
    TestLearner first(Options());
    first.Learn(25);
    first.End();
  }
  FlowOptions options = Options();
  options.learner.seed = 4;
  const TestLearner second(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("was begun with seed 0 where 4 is configured; configure that again, or "
                        "another folder to start from the beginning"));
}

TEST_F(CheckpointWriterTest, SaysHowItLearnedAndWhereItsSourceWas) {
  SourcePosition position = {.frames = 31, .epochs = 2};
  FlowOptions options = Options();
  options.learner.seed = 9;
  {
    TestLearner first(options, {.position = [&] { return position; }});
    EXPECT_EQ(first->resumption().position, SourcePosition());
    first.Learn(25);
    first.End();
  }
  {
    const LayerChain chain = MakeCoarseToFineNetwork();
    auto checkpoints = *Checkpoints::Open({.folder = folder_.string()}, chain);
    const CheckpointFacts facts = ReadFacts(checkpoints.Read()->newest->facts);
    EXPECT_EQ(facts.task, "optical flow");
    EXPECT_EQ(facts.seed, 9U);
    EXPECT_EQ(facts.schedule, "sequential");
    EXPECT_EQ(facts.samples_per_pattern, 1);
    EXPECT_THAT(facts.pattern, HasSubstr("F1(0) B1(0) U1(0)"));
  }
  const TestLearner second(options);
  ASSERT_TRUE(second.status().ok()) << second.status();
  EXPECT_EQ(second->resumption().position, position);
}

// A user's own network with dropout: it draws random numbers for each sample.
class DropoutCheckpointsTest : public CheckpointWriterTest {
 protected:
  DropoutCheckpointsTest() {
    at::manual_seed(3);
    SaveNetwork({Convolution("A", 6, 8), Dropping(), Convolution("B", 8, 2)}, network_);
  }
  ~DropoutCheckpointsTest() override { fs::remove(network_); }

  [[nodiscard]] FlowOptions Options(std::uint64_t seed) const {
    FlowOptions options = CheckpointWriterTest::Options();
    options.task.network = network_;
    options.learner.optimizer.learning_rate = 1e-3;
    options.learner.seed = seed;
    return options;
  }

  std::vector<ModelPrediction> Whole(FlowOptions options) const {
    options.learner.checkpoints = {};
    TestLearner learner(options);
    EXPECT_TRUE(learner.status().ok()) << learner.status();
    learner.Learn(40);
    return learner.End();
  }

  // Stopped after `stop` samples, gone on with by another process.
  std::vector<ModelPrediction> InTwo(const FlowOptions& options, std::int64_t stop) const {
    std::vector<ModelPrediction> predicted;
    {
      TestLearner first(options);
      first.Learn(stop);
      predicted = first.End();
    }
    TestLearner second(options);
    EXPECT_EQ(second->resumption().first_sample, stop);
    second.StartAt(stop);
    second.Learn(40 - stop);
    for (ModelPrediction& prediction : second.End()) predicted.push_back(std::move(prediction));
    return predicted;
  }

  const std::string network_ = folder_.string() + ".pt";
};

void ExpectSame(const std::vector<ModelPrediction>& a, const std::vector<ModelPrediction>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].sample, b[i].sample);
    EXPECT_EQ(a[i].updates, b[i].updates);
    EXPECT_EQ(*a[i].flow, *b[i].flow) << "sample " << i;
  }
}

TEST_F(DropoutCheckpointsTest, WhatIsDrawnAtRandomGoesOnBitForBit) {
  const std::vector<ModelPrediction> whole = Whole(Options(5));
  ExpectSame(InTwo(Options(5), 25), whole);
  const std::vector<ModelPrediction> other = Whole(Options(6));
  EXPECT_NE(*other.front().flow, *whole.front().flow) << "the seed is the configured one";
}

// Two stages, filled again after a stop: the same where the schedule drains at that sample anyway.
TEST_F(DropoutCheckpointsTest, APipelineGoesOnBitForBitWhereItIsDrained) {
  FlowOptions options = Options(5);
  options.learner.schedule = "hybrid";
  options.learner.stages = 2;
  options.learner.cuts = {2};
  options.learner.request.switch_at = 25;
  ExpectSame(InTwo(options, 25), Whole(options));

  const NetworkWithState opened = *OpenFlowNetwork({.name = network_}, kWavesSide, kWavesSide);
  auto checkpoints = *Checkpoints::Open({.folder = folder_.string()}, opened.chain);
  const Checkpoints::Found found = *checkpoints.Read();
  EXPECT_EQ(ReadFacts(found.newest->facts).schedule, "hybrid: sequential") << "what ran at the end";
}

TEST_F(CheckpointWriterTest, FactsComeBackAsTheyWere) {
  CheckpointFacts facts{.task = "flow",
                        .seed = 0xffff'ffff'ffff'ffff,
                        .schedule = "partime",
                        .samples_per_pattern = 4,
                        .pattern = "device 0   F1(0)\n",
                        .learning = {.roll_backs = 3, .drifts = 7, .rate_scale = 0.25},
                        .position = {.frames = 5'000'000'000, .epochs = 12}};
  const CheckpointFacts read = ReadFacts(WriteFacts(facts));
  EXPECT_EQ(read.task, facts.task);
  EXPECT_EQ(read.seed, facts.seed);
  EXPECT_EQ(read.schedule, facts.schedule);
  EXPECT_EQ(read.samples_per_pattern, 4);
  EXPECT_EQ(read.pattern, facts.pattern);
  EXPECT_EQ(read.learning.roll_backs, 3);
  EXPECT_EQ(read.learning.drifts, 7);
  EXPECT_EQ(read.learning.rate_scale, 0.25);
  EXPECT_EQ(read.position, facts.position);
  EXPECT_EQ(ReadFacts({{"roll_backs", "many"}}).learning.roll_backs, 0);
  EXPECT_EQ(ReadFacts({}).seed, std::nullopt);
  EXPECT_EQ(ReadFacts({}).optimizer, "rmsprop") << "as in all streams before it was recorded";
  EXPECT_EQ(ReadFacts({}).task, "");
}

}  // namespace
}  // namespace millrace::pipeline
