// Learners whose stages run on several ranks: what they must do, whatever their task is.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/regular_file.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_options.h"
#include "tests/pipeline/support/fake_hosts.h"

namespace millrace::pipeline {

/// What a learner gets, and its pictures' memory.
struct ShownSample {
  std::vector<std::uint8_t> previous = {};
  std::vector<std::uint8_t> current = {};
  std::optional<SampleLabel> label = {};

  [[nodiscard]] Sample sample() const {
    return {.previous = previous, .current = current, .label = label};
  }
};

/// A task, and how its learner is made, followed and fed.
struct RankedTask {
  std::function<absl::StatusOr<std::unique_ptr<Learner>>(const LearnerOptions&, OnPrediction,
                                                         const LearnerHooks&)>
      make;
  FakeHosts::Follow follow;
  std::function<ShownSample(int frame)> show;
  /// Whether a freeze shows in the predictions of the samples that are admitted under it, and in no
  /// other.
  bool freezes_by_sample = true;
};

/// What a learner has done.
struct RankedLearning {
  std::vector<ModelPrediction> predictions = {};
  ModelPrediction answer = {};  // Of Predict(), after the end.
  std::vector<std::int64_t> updates = {};
  LearningFigures figures = {};
  std::map<std::string, std::string> checkpoint = {};  // The stages' files, by name.
};

/// A learner that has lost a rank and gone on.
struct LostAndGoneOn {
  std::map<std::int64_t, int> frames = {};                   // Of the admitted samples.
  std::map<std::int64_t, ModelPrediction> predictions = {};  // By sample.
  std::int64_t first_after = -1;                             // The first sample after the loss.
};

/// Makes a learner wait for the checkpoint before, so that it writes each one.
class EachCheckpoint {
 public:
  void AddTo(LearnerHooks& hooks) {
    hooks.position = [this] {
      const MutexLock lock(mu_);
      while (made_ != written_) changed_.wait(mu_);
      ++made_;
      return SourcePosition();
    };
    hooks.on_write = [this](const CheckpointWritten& written) {
      EXPECT_TRUE(written.status.ok()) << written.status;
      const MutexLock lock(mu_);
      ++written_;
      changed_.notify_all();
    };
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int made_ ABSL_GUARDED_BY(mu_) = 0;
  int written_ ABSL_GUARDED_BY(mu_) = 0;
};

class RankedLearnersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / absl::StrCat("ranked_", ::getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The leader runs on this thread. `ranks` follow it.
  [[nodiscard]] RankedLearning Learn(const RankedTask& task, LearnerOptions options,
                                     const std::vector<int>& ranks) {
    std::filesystem::remove_all(folder_);
    options.checkpoints = {.folder = folder_.string(), .every = 20};
    options.copy_every = 10;
    options.rank_of_stage = ranks;
    FakeHosts hosts(task.follow);
    LearnerHooks hooks;
    hooks.join_ranks = [&](const JoinRequest& request) {
      EXPECT_EQ(request.size, ranks.front() + 1);
      return hosts.Join(request.size, {});
    };
    EachCheckpoint checkpoints;
    checkpoints.AddTo(hooks);
    RankedLearning learned;
    const auto learner = task.make(
        options, [&](ModelPrediction made) { learned.predictions.push_back(std::move(made)); },
        hooks);
    EXPECT_TRUE(learner.ok()) << learner.status();
    if (learner.ok()) Finish(task, **learner, learned);
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_)) {
      if (file.path().extension() != ".safetensors") continue;
      learned.checkpoint[file.path().lexically_relative(folder_)] = *ReadFile(file.path());
    }
    return learned;
  }

  /// With the last stage alone in the leader, and with each stage on a rank of its own.
  void LearnsAsOneProcess(const RankedTask& task, const LearnerOptions& options) {
    const RankedLearning one = Learn(task, options, {});
    ASSERT_EQ(one.predictions.size(), 60U);
    EXPECT_FALSE(one.checkpoint.empty());
    std::vector<int> last_alone(options.stages, 1);
    last_alone.back() = 0;
    std::vector<int> each(options.stages);
    for (int i = 0; i < options.stages; ++i) each[i] = options.stages - 1 - i;
    for (const std::vector<int>& ranks : {last_alone, each}) {
      SCOPED_TRACE(testing::PrintToString(ranks));
      const RankedLearning several = Learn(task, options, ranks);
      ASSERT_EQ(several.predictions.size(), one.predictions.size());
      for (std::size_t i = 0; i < one.predictions.size(); ++i) {
        const ModelPrediction& a = several.predictions[i];
        const ModelPrediction& b = one.predictions[i];
        ASSERT_TRUE(SaysTheSame(a, b)) << "prediction " << i;
        EXPECT_EQ(a.loss, b.loss) << i;
        EXPECT_EQ(a.updates, b.updates) << i;
        EXPECT_EQ(a.skipped, b.skipped) << i;
      }
      EXPECT_TRUE(SaysTheSame(several.answer, one.answer));
      EXPECT_EQ(several.updates, one.updates);
      EXPECT_EQ(several.checkpoint, one.checkpoint);
    }
  }

  /// After a loss, one process that starts from a good state predicts the same. `options`: of three
  /// stages.
  void GoesOnFromGoodWeights(const RankedTask& task, LearnerOptions options) {
    options.rank_of_stage = {2, 1, 0};
    options.copy_every = 10;
    options.checkpoints = {.folder = folder_.string(), .every = 10, .keep = 100};
    int gone_on_from_learned = 0;
    for (const std::int64_t after : {1, 200, 400}) {
      SCOPED_TRACE(absl::StrCat(options.schedule, ", lost after ", after, " messages"));
      LostAndGoneOn run;
      ASSERT_NO_FATAL_FAILURE(LoseARank(task, options, after, run));
      int as_one = 0;
      for (const std::string& start : Starts()) {
        bool same = false;
        ASSERT_NO_FATAL_FAILURE(PredictAlone(task, options, start, run, same));
        as_one += same ? 1 : 0;
        gone_on_from_learned += same && !start.empty() ? 1 : 0;
      }
      EXPECT_EQ(as_one, 1);
    }
    EXPECT_GT(gone_on_from_learned, 0);
  }

  /// Waits for the other ranks, too.
  static absl::Status AwaitRoom(Learner& learner) {
    while (true) {
      absl::Status room = learner.AwaitRoom();
      if (room.ok() || learner.interruption().ok()) return room;
      std::this_thread::yield();
    }
  }

  std::filesystem::path folder_;

 private:
  static bool SaysTheSame(const ModelPrediction& a, const ModelPrediction& b) {
    return a.flow != nullptr ? *a.flow == *b.flow : *a.outputs == *b.outputs;
  }

  static void Finish(const RankedTask& task, Learner& learner, RankedLearning& learned) {
    constexpr int kSamples = 60;
    const double rate = learner.learning_rate();
    for (int i = 0; i < kSamples; ++i) {
      const absl::Status room = AwaitRoom(learner);
      ASSERT_TRUE(room.ok()) << room;
      if (i == 25) {
        ASSERT_TRUE(learner.SetLearningRate(rate / 2).ok());
      }
      if (i == 32) {
        ASSERT_TRUE(learner.SetOptimizer({.weight_decay = 0.01, .clip_norm = 0.1}).ok());
      }
      if (i == 40 && task.freezes_by_sample) learner.Freeze(true);
      if (i == 50) learner.Freeze(false);
      const ShownSample shown = task.show(i);
      const auto admitted = learner.Admit(shown.sample());
      ASSERT_TRUE(admitted.ok()) << admitted.status();
    }
    const absl::Status drained = learner.Drain();
    ASSERT_TRUE(drained.ok()) << drained;
    learned.updates = learner.updates();
    learned.figures = learner.learning();
    const ShownSample shown = task.show(70);
    auto answer = learner.Predict(shown.sample());
    ASSERT_TRUE(answer.ok()) << answer.status();
    learned.answer = *std::move(answer);
  }

  void LoseARank(const RankedTask& task, const LearnerOptions& options, std::int64_t after_messages,
                 LostAndGoneOn& run) {
    constexpr int kFrames = 120;
    std::filesystem::remove_all(folder_);
    FakeHosts hosts(task.follow);
    int groups = 0;
    LearnerHooks hooks;
    hooks.join_ranks = [&](const JoinRequest& request) {
      const bool first = groups++ == 0;
      return hosts.Join(request.size, {.rank = 1, .after_messages = first ? after_messages : -1});
    };
    EachCheckpoint checkpoints;
    checkpoints.AddTo(hooks);
    const auto made = task.make(
        options, [&](ModelPrediction p) { run.predictions[p.sample] = std::move(p); }, hooks);
    ASSERT_TRUE(made.ok()) << made.status();
    Learner& learner = **made;
    for (int frame = 0; frame < kFrames; ++frame) {
      ASSERT_NO_FATAL_FAILURE(Admit(task, learner, frame, run));
    }
    ASSERT_TRUE(learner.Drain().ok());
    ASSERT_EQ(learner.ranks()->lost, 1);
    ASSERT_GE(run.first_after, 0);
  }

  static void Admit(const RankedTask& task, Learner& learner, int frame, LostAndGoneOn& run) {
    const absl::Status room = AwaitRoom(learner);
    ASSERT_TRUE(room.ok()) << room;
    const ShownSample shown = task.show(frame);
    const auto sample = learner.Admit(shown.sample());
    if (!sample.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(sample.status())) << sample.status();
      EXPECT_THAT(learner.interruption().message(), ::testing::HasSubstr("rank 1 is lost"));
      return;
    }
    EXPECT_EQ(*sample, run.frames.empty() ? 0 : run.frames.rbegin()->first + 1);
    run.frames[*sample] = frame;
    if (learner.ranks()->groups == 2 && run.first_after < 0) run.first_after = *sample;
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
  void PredictAlone(const RankedTask& task, LearnerOptions options, const std::string& start,
                    const LostAndGoneOn& run, bool& same) const {
    const std::filesystem::path copy = folder_.string() + "-copy";
    std::filesystem::create_directories(copy);
    if (!start.empty()) {
      std::filesystem::copy(folder_ / start, copy / start,
                            std::filesystem::copy_options::recursive);
    }
    options.rank_of_stage = {};
    options.checkpoints.folder = copy.string();
    std::vector<ModelPrediction> expected;
    const auto oracle =
        task.make(options, [&](ModelPrediction p) { expected.push_back(std::move(p)); }, {});
    ASSERT_TRUE(oracle.ok()) << oracle.status();
    for (auto at = run.frames.find(run.first_after); at != run.frames.end(); ++at) {
      ASSERT_TRUE((*oracle)->AwaitRoom().ok());
      const ShownSample shown = task.show(at->second);
      ASSERT_TRUE((*oracle)->Admit(shown.sample()).ok());
    }
    ASSERT_TRUE((*oracle)->Drain().ok());
    std::filesystem::remove_all(copy);
    same = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto found = run.predictions.find(run.first_after + static_cast<std::int64_t>(i));
      ASSERT_NE(found, run.predictions.end());
      same = same && SaysTheSame(found->second, expected[i]);
    }
  }
};

}  // namespace millrace::pipeline
