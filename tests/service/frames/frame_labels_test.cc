#include "service/frames/frame_labels.h"

#include <cmath>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/decisions/late_labels.h"

namespace millrace::service {
namespace {

using pipeline::LabelledTask;
using pipeline::LabelTask;
using pipeline::LateLabels;
using pipeline::SampleLabel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kWindow = 3;

/// A stream's work with its frames, step by step, with the labels of a real learner.
class FrameLabelsTest : public testing::Test {
 protected:
  explicit FrameLabelsTest(LabelledTask task = {.outputs = 3,
                                                .classes = {"cat", "dog", "cow"},
                                                .window = kWindow})
      : late_({.window = task.window}),
        labels_(task, [this](std::int64_t sample, const SampleLabel& label) {
          return late_.Add(sample, label);
        }) {}

  void Admit(std::int64_t frame) {
    late_.Admit(samples_, labels_.Begin(frame, samples_));
    ++samples_;
    labels_.End(/*admitted=*/true);
  }

  /// Predicts the next sample. Returns the samples whose labels its step learns from.
  std::vector<std::int64_t> Predict(int best_class = 0, std::vector<float> outputs = {1, 0, 0}) {
    std::vector<std::int64_t> learned;
    for (const LateLabels::Labelled& labelled : late_.Labels(predicted_)) {
      learned.push_back(labelled.sample);
    }
    pipeline::ModelPrediction prediction;
    prediction.sample = predicted_++;
    prediction.outputs = std::make_shared<const std::vector<float>>(std::move(outputs));
    prediction.best_class = best_class;
    labels_.OnPrediction(prediction);
    return learned;
  }

  std::vector<std::int64_t> Show(std::int64_t frame, int best_class = 0) {
    Admit(frame);
    return Predict(best_class);
  }

  absl::Status Add(std::int64_t frame, const ClientLabel& label, std::int64_t received = 100) {
    return labels_.Add(frame, label, received);
  }

  LateLabels late_;
  FrameLabels labels_;
  std::int64_t samples_ = 0;
  std::int64_t predicted_ = 0;
};

TEST_F(FrameLabelsTest, WhatStillWaitsAtTheEndIsUnused) {
  Show(0);
  EXPECT_TRUE(Add(5, std::int64_t{1}).ok());
  EXPECT_TRUE(Add(6, std::int64_t{1}).ok());
  labels_.Finish();
  labels_.Finish();
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kAdded), 2u);
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kUnused), 2u);
}

TEST_F(FrameLabelsTest, APredictionThatIsNotFiniteIsNotScored) {
  Admit(0);
  EXPECT_TRUE(Add(0, std::int64_t{1}).ok());
  pipeline::ModelPrediction prediction;
  prediction.outputs = std::make_shared<const std::vector<float>>(3, std::nanf(""));
  prediction.finite = false;
  labels_.OnPrediction(prediction);
  EXPECT_EQ(labels_.counts().scored, 0u);
}

TEST_F(FrameLabelsTest, ALabelGoesToTheSampleOfItsFrame) {
  for (const std::int64_t frame : {4, 6, 9}) Show(frame);
  EXPECT_TRUE(Add(6, std::int64_t{2}).ok());
  EXPECT_TRUE(Add(9, "dog").ok());
  EXPECT_THAT(Show(10), ElementsAre(1, 2));
  EXPECT_THAT(Show(11), ElementsAre(2));
}

TEST_F(FrameLabelsTest, SaysWhichFramesThereAreNot) {
  Show(4);
  Show(6);
  const absl::Status dropped = Add(5, "cat");
  EXPECT_EQ(dropped.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(dropped.message(), "frame 5 was dropped and got no prediction");
  EXPECT_EQ(Add(2, "cat").code(), absl::StatusCode::kNotFound);
  const absl::Status future = Add(9, "cat", /*received=*/9);
  EXPECT_EQ(future.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(future.message(), "frame 9 has not come; 9 have, counted from 0");
  EXPECT_EQ(Add(-1, "cat").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kUnknown), 4u);
}

TEST_F(FrameLabelsTest, NamesTheOldestFrameThatCanStillBeLabelled) {
  for (const std::int64_t frame : {1, 3, 5, 7}) Show(frame);
  const absl::Status late = Add(3, "cat");
  EXPECT_EQ(late.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(late.message(), HasSubstr("5 is the oldest that can still be labelled"));
  EXPECT_EQ(Add(2, "cat").code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(Add(5, "cat").ok());
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kTooLate), 2u);
}

TEST_F(FrameLabelsTest, TheFirstLabelStays) {
  Show(0);
  EXPECT_TRUE(Add(0, "cat").ok());
  const absl::Status again = Add(0, "dog");
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(again.message(), "frame 0 has a label already; the first one stays");
}

TEST_F(FrameLabelsTest, AFrameThatWaitsTakesItsLabelAlong) {
  EXPECT_TRUE(Add(7, "cow").ok());
  EXPECT_EQ(Add(7, "cat").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Show(7, /*best_class=*/2), ElementsAre(0));
  EXPECT_EQ(Add(7, "cat").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(labels_.counts().right, 1u);
  EXPECT_EQ(late_.figures().in_time, 1);
}

TEST_F(FrameLabelsTest, ALabelThatComesWhileItsFrameIsTakenIsNotLost) {
  const std::optional<SampleLabel> with = labels_.Begin(7, 0);
  EXPECT_FALSE(with.has_value());
  EXPECT_TRUE(Add(7, "cow").ok());
  EXPECT_EQ(Add(7, "cow").code(), absl::StatusCode::kAlreadyExists);
  late_.Admit(samples_++, with);
  labels_.End(/*admitted=*/true);
  EXPECT_THAT(Predict(), ElementsAre(0));
}

TEST_F(FrameLabelsTest, CountsLabelsOfFramesThatWereDroppedWhileTheyWaited) {
  EXPECT_TRUE(Add(1, "cat").ok());
  EXPECT_TRUE(Add(2, "cat").ok());
  EXPECT_TRUE(Add(3, "cat").ok());
  Show(3);
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kAdded), 3u);
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kUnused), 2u);
  EXPECT_TRUE(Add(4, "cat").ok());
  static_cast<void>(labels_.Begin(4, samples_));
  labels_.End(/*admitted=*/false);
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kUnused), 3u);
  EXPECT_EQ(Add(4, "cat").code(), absl::StatusCode::kNotFound);
}

TEST_F(FrameLabelsTest, LabelsOfFramesThatWaitAreBounded) {
  for (int frame = 0; frame < 2000; ++frame) EXPECT_TRUE(Add(frame, "cat", 2000).ok());
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kUnused), 976u);
}

TEST_F(FrameLabelsTest, RefusesWhatIsNoLabelOfTheTask) {
  Show(0);
  for (const ClientLabel& label : std::vector<ClientLabel>{
           std::int64_t{3}, std::int64_t{-1}, std::string("cats"), std::vector<float>{1, 0, 0}}) {
    EXPECT_EQ(Add(0, label).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(Add(0, "cats").message(), "there is no class 'cats'; use one of: cat, dog, cow");
  EXPECT_EQ(labels_.counts().of(LabelOutcome::kInvalid), 5u);
}

// It does not matter which of the two comes first: the prediction knew nothing of the label.
TEST_F(FrameLabelsTest, ScoresPredictionsWhoseLabelsCome) {
  Show(0, /*best_class=*/1);
  EXPECT_TRUE(Add(0, "dog").ok());
  EXPECT_TRUE(Add(1, "cat").ok());
  Show(1, /*best_class=*/2);
  Show(2);
  const LabelCounts counts = labels_.counts();
  EXPECT_EQ(counts.scored, 2u);
  EXPECT_EQ(counts.right, 1u);
  EXPECT_DOUBLE_EQ(counts.score(), 0.5);
  EXPECT_DOUBLE_EQ(counts.recent_score, 0.5);
}

class OneSampleTest : public FrameLabelsTest {
 protected:
  OneSampleTest() : FrameLabelsTest({.outputs = 3, .window = 1}) {}
};

TEST_F(OneSampleTest, AWindowOfOneTakesLabelsUntilThePrediction) {
  Show(0);
  EXPECT_EQ(Add(0, std::int64_t{1}).code(), absl::StatusCode::kOutOfRange);
  Admit(1);
  EXPECT_TRUE(Add(1, std::int64_t{1}).ok());
  EXPECT_THAT(Predict(), ElementsAre(1));
  EXPECT_THAT(std::string(Add(1, "cat").message()), HasSubstr("no classes with names"));
}

class ValuesTest : public FrameLabelsTest {
 protected:
  ValuesTest()
      : FrameLabelsTest({.task = LabelTask::kRegression, .outputs = 2, .window = kWindow}) {}
};

TEST_F(ValuesTest, ScoresValuesByTheirMeanSquaredError) {
  Admit(0);
  Predict(-1, {1, 2});
  EXPECT_TRUE(Add(0, std::vector<float>{1, 4}).ok());
  EXPECT_DOUBLE_EQ(labels_.counts().score(), 2);
  EXPECT_EQ(Add(0, std::int64_t{1}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Add(0, std::vector<float>{1}).code(), absl::StatusCode::kInvalidArgument);
}

// Clients send while frames are admitted and predicted: every label is counted once, and each one
// that was added and is not unused has reached the learner.
TEST(FrameLabelsThreadsTest, EveryLabelIsCounted) {
  constexpr int kFrames = 2000;
  LateLabels late({.window = 16, .in_flight = 4});
  FrameLabels labels(
      {.outputs = 3, .window = 16},
      [&](std::int64_t sample, const SampleLabel& label) { return late.Add(sample, label); });
  std::atomic<std::int64_t> received = 0;
  std::atomic<std::int64_t> admitted = 0;
  std::jthread admitting([&] {
    for (std::int64_t frame = 0; frame < kFrames; ++frame) {
      received = frame + 1;
      late.Admit(frame, labels.Begin(frame, frame));
      labels.End(true);
      admitted = frame + 1;
    }
  });
  std::jthread predicting([&] {
    for (std::int64_t sample = 0; sample < kFrames; ++sample) {
      while (admitted <= sample) std::this_thread::yield();
      static_cast<void>(late.Labels(sample));
      pipeline::ModelPrediction prediction;
      prediction.sample = sample;
      prediction.outputs = std::make_shared<const std::vector<float>>(3);
      labels.OnPrediction(prediction);
    }
  });
  std::atomic<std::uint64_t> added = 0;
  std::jthread sending([&] {
    for (std::int64_t frame = 0; frame < kFrames; ++frame) {
      while (received <= frame) std::this_thread::yield();
      if (labels.Add(frame, std::int64_t{1}, received).ok()) ++added;
    }
  });
  admitting.join();
  predicting.join();
  sending.join();
  const LabelCounts counts = labels.counts();
  EXPECT_EQ(counts.of(LabelOutcome::kAdded), added);
  EXPECT_EQ(counts.of(LabelOutcome::kAdded) + counts.of(LabelOutcome::kTooLate), kFrames);
  const pipeline::LabelFigures figures = late.figures();
  EXPECT_EQ(
      figures.in_time + figures.late + static_cast<std::int64_t>(counts.of(LabelOutcome::kUnused)),
      static_cast<std::int64_t>(added));
}

}  // namespace
}  // namespace millrace::service
