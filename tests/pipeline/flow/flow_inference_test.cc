// Predictions of a learning network for samples that it does not learn from.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_learner.h"
#include "pipeline/labels/label_learner.h"
#include "pipeline/labels/staged_label_learner.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/learner.h"
#include "pipeline/scenes/generated_stream.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kSide = 64;

/// The stream's pictures, and a learner's prediction for each.
class Filmed {
 public:
  explicit Filmed(LearnerOptions options, const FlowTaskOptions& task = {})
      : options_(std::move(options)), next_frame_(task.next_frame) {
    options_.width = options_.height = kSide;
    auto made = MakeFlowLearner(options_, task, [this](ModelPrediction prediction) {
      const std::lock_guard lock(mu_);
      predictions_.push_back(std::move(prediction));
    });
    EXPECT_TRUE(made.ok()) << made.status();
    learner_ = *std::move(made);
  }

  [[nodiscard]] Learner& learner() { return *learner_; }

  /// The learner takes more pairs; the next pair is Next().
  void Film(int samples) {
    for (int i = 0; i < samples; ++i) {
      EXPECT_TRUE(learner_->AwaitRoom().ok());
      EXPECT_TRUE(learner_->Admit(Next()).ok());
      Move();
    }
    admitted_ += samples;
  }
  [[nodiscard]] Sample Next() const {
    Sample pair{.previous = pair_.previous_rgb, .current = pair_.current_rgb};
    if (next_frame_) pair.before = before_;
    return pair;
  }
  /// Waits until every stage has learned from all that teaches. REQUIRES: sequential.
  void AwaitUpdates() {
    const auto all_learned = [this](const std::vector<std::int64_t>& updates) {
      const std::lock_guard lock(mu_);
      const auto teach =
          std::ranges::count(predictions_, SkipReason::kNone, &ModelPrediction::skipped);
      return static_cast<std::int64_t>(predictions_.size()) == admitted_ &&
             std::ranges::all_of(updates, [&](std::int64_t n) { return n == teach; });
    };
    while (!all_learned(learner_->updates())) std::this_thread::yield();
  }
  [[nodiscard]] std::vector<ModelPrediction> End() {
    EXPECT_TRUE(learner_->Drain().ok());
    return predictions_;
  }

 private:
  void Move() {
    before_ = pair_.previous_rgb;
    pair_ = stream_.Next();
  }

  LearnerOptions options_;
  const bool next_frame_;
  GeneratedStream stream_{{.width = kSide, .height = kSide}};
  GeneratedPair pair_ = stream_.Next();
  std::vector<std::uint8_t> before_ = pair_.previous_rgb;
  std::mutex mu_;
  std::vector<ModelPrediction> predictions_;
  std::int64_t admitted_ = 0;
  std::unique_ptr<Learner> learner_;
};

void ExpectTheSame(const ModelPrediction& made, const ModelPrediction& expected) {
  EXPECT_EQ(*made.flow, *expected.flow);
  EXPECT_EQ(made.loss, expected.loss);
  EXPECT_EQ(made.loss_no_motion, expected.loss_no_motion);
  EXPECT_EQ(made.terms, expected.terms);
  EXPECT_EQ(made.updates, expected.updates);
  EXPECT_EQ(made.finite, expected.finite);
}

// The frame that comes next meets the same weights, where nothing is on its way.
void ExpectWhatTheNextFrameGets(const LearnerOptions& options, const FlowTaskOptions& task = {}) {
  Filmed filmed(options, task);
  filmed.Film(8);
  filmed.AwaitUpdates();
  const auto asked = filmed.learner().Predict(filmed.Next());
  ASSERT_TRUE(asked.ok()) << asked.status();
  filmed.Film(1);
  const ModelPrediction got = filmed.End().back();
  ExpectTheSame(*asked, got);
  EXPECT_GT(asked->updates, 0);
  EXPECT_EQ(asked->sample, -1);
  EXPECT_EQ(asked->skipped, SkipReason::kHeld);
}

TEST(FlowInferenceTest, SaysWhatTheNextFrameWillGet) {
  ExpectWhatTheNextFrameGets(
      {.schedule = "sequential", .stages = 1, .optimizer = {.learning_rate = 1e-3}});
  ExpectWhatTheNextFrameGets(
      {.schedule = "sequential", .stages = 3, .optimizer = {.learning_rate = 1e-3}});
}

TEST(FlowInferenceTest, KnowsThePictureToComeAndOtherNetworks) {
  const LearnerOptions options{
      .schedule = "sequential", .stages = 2, .optimizer = {.learning_rate = 1e-3}};
  ExpectWhatTheNextFrameGets(options, {.next_frame = true});
  ExpectWhatTheNextFrameGets(options, {.network = "flownets"});
  ExpectWhatTheNextFrameGets(options, {.precision = Precision::kBFloat16});
}

// Whatever weights stages keep for samples in flight, and in whatever order they work.
TEST(FlowInferenceTest, AskingWhileItLearnsChangesNothing) {
  constexpr int kSamples = 12;
  for (const std::string& schedule : ScheduleNames()) {
    SCOPED_TRACE(schedule);
    const LearnerOptions options{.schedule = schedule, .stages = 2};
    const FlowTaskOptions task{.network = schedule == "local" ? "levels" : "flow"};
    Filmed alone(options, task);
    alone.Film(kSamples);
    const std::vector<ModelPrediction> expected = alone.End();

    Filmed asked(options, task);
    const std::vector<std::uint8_t> pictures(asked.Next().current.begin(),
                                             asked.Next().current.end());
    std::atomic<int> answers = 0;
    std::jthread asking([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const auto made = asked.learner().Predict({.previous = pictures, .current = pictures});
        ASSERT_TRUE(made.ok()) << made.status();
        EXPECT_TRUE(made->finite);
        ++answers;
      }
    });
    for (int i = 0; i < kSamples; ++i) {
      asked.Film(1);
      const int answered = answers;
      while (i % 4 == 0 && answers == answered) std::this_thread::yield();
    }
    asking = {};
    const std::vector<ModelPrediction> made = asked.End();
    ASSERT_EQ(made.size(), expected.size());
    for (int i = 0; i < kSamples; ++i) EXPECT_EQ(made[i].loss, expected[i].loss) << i;
    EXPECT_TRUE(asked.learner().Predict(asked.Next()).ok()) << "when it has ended, too";
  }
}

TEST(FlowInferenceTest, PicturesOfAnotherSizeAreRefused) {
  Filmed filmed({});
  const std::vector<std::uint8_t> small(12);
  const auto refused = filmed.learner().Predict({.previous = small, .current = small});
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("64x64"));
}

LearnerOptions SmallLearner() {
  return {.width = 4,
          .height = 4,
          .schedule = "sequential",
          .stages = 2,
          .cuts = {1},
          .optimizer = {.learning_rate = 0.1}};
}

LabelTaskOptions SmallTask(LabelTask task) {
  return {.layers = 3, .width = 8, .task = task, .outputs = 3, .divergence = kLabelDivergence};
}

void ExpectWhatTheNextPictureGets(LabelTask task, const SampleLabel& label) {
  std::vector<ModelPrediction> said;
  std::mutex mu;
  auto learner =
      MakeLabelLearner(SmallLearner(), SmallTask(task), [&](const ModelPrediction& made) {
        const std::lock_guard lock(mu);
        said.push_back(made);
      });
  ASSERT_TRUE(learner.ok()) << learner.status();
  std::vector<std::uint8_t> picture(48);
  for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(i * 5);
  const auto untaught = (*learner)->Predict({.previous = {}, .current = picture});
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE((*learner)->Admit({.previous = {}, .current = picture, .label = label}).ok());
  }
  while ((*learner)->updates() != std::vector<std::int64_t>{6, 6}) std::this_thread::yield();
  const auto asked = (*learner)->Predict({.previous = {}, .current = picture});
  ASSERT_TRUE(asked.ok()) << asked.status();
  ASSERT_TRUE((*learner)->Admit({.previous = {}, .current = picture}).ok());
  ASSERT_TRUE((*learner)->Drain().ok());

  EXPECT_EQ(*asked->outputs, *said.back().outputs);
  EXPECT_EQ(asked->best_class, said.back().best_class);
  EXPECT_NE(*asked->outputs, *untaught->outputs);
  EXPECT_EQ(asked->skipped, SkipReason::kUnlabelled);
  EXPECT_TRUE(absl::IsInvalidArgument((*learner)->Predict({}).status()));
}

TEST(FlowInferenceTest, OfAStreamThatLearnsFromLabelsSaysWhatTheNextPictureGets) {
  ExpectWhatTheNextPictureGets(LabelTask::kClassification, std::int64_t{2});
  ExpectWhatTheNextPictureGets(LabelTask::kRegression, std::vector<float>{1, 2, 3});
}

/// Learns three values of one sample, a little at each step.
class OneSampleLearner {
 public:
  struct Answer {
    std::vector<float> outputs;
    std::int64_t updates = 0;
  };

  OneSampleLearner() {
    // The rate is so low that a thousand updates do not reach the end.
    const LearnerOptions options{.width = 8,
                                 .height = 8,
                                 .schedule = "sequential",
                                 .stages = 1,
                                 .optimizer = {.learning_rate = 1e-5}};
    const LabelTaskOptions task{
        .layers = 3, .width = 8, .task = LabelTask::kRegression, .outputs = 3};
    auto made =
        StagedLabelLearner::Make(options, task, [](const ModelPrediction& /*prediction*/) {});
    EXPECT_TRUE(made.ok()) << made.status();
    learner_ = *std::move(made);
  }

  void Learn() { EXPECT_TRUE(learner_->AdmitSample(sample_, std::vector<float>{1, 2, 3}).ok()); }
  void AwaitUpdates(std::int64_t updates) {
    while (learner_->updates().back() < updates) std::this_thread::yield();
  }
  Answer Ask() {
    auto made = learner_->PredictSample(sample_);
    EXPECT_TRUE(made.ok()) << made.status();
    return {*made->outputs, made->updates};
  }

 private:
  const std::vector<float> sample_ = std::vector<float>(64, 0.5F);
  std::unique_ptr<StagedLabelLearner> learner_;
};

// Whenever it is asked: in the middle of an update, too.
TEST(FlowInferenceTest, TheUpdatesAreThoseThatTheWeightsHaveSeen) {
  constexpr int kUpdates = 1000;
  OneSampleLearner alone;
  std::vector<std::vector<float>> after;  // By the number of updates.
  for (int i = 0; i <= kUpdates; ++i) {
    after.push_back(alone.Ask().outputs);
    ASSERT_TRUE(i == 0 || after[i] != after[i - 1]) << "each update shows";
    alone.Learn();
    alone.AwaitUpdates(i + 1);
  }

  OneSampleLearner asked;
  std::atomic<int> answers = 0;
  std::jthread asking([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++answers) {
      const OneSampleLearner::Answer answer = asked.Ask();
      ASSERT_LE(answer.updates, kUpdates);
      ASSERT_EQ(answer.outputs, after[answer.updates]) << answer.updates;
    }
  });
  for (int i = 0; i < kUpdates; ++i) {
    asked.Learn();
    const int answered = answers;
    while (i % 10 == 0 && answers == answered) std::this_thread::yield();
  }
  asking = {};
  asked.AwaitUpdates(kUpdates);
  EXPECT_EQ(asked.Ask().updates, kUpdates);
}

}  // namespace
}  // namespace millrace::pipeline
