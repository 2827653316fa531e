#include "pipeline/evaluation/retention.h"

#include <gtest/gtest.h>

#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kWidth = 6;
constexpr int kHeight = 4;
constexpr int kPairs = 30;

// Predicts at once a flow of a tenth of a pixel for every sample that it has learned from.
class CountingLearner final : public Learner {
 public:
  explicit CountingLearner(OnPrediction on_prediction) : on_prediction_(std::move(on_prediction)) {}

  absl::StatusOr<std::int64_t> Admit(const Sample& /*sample*/) override {
    ModelPrediction made{.sample = samples_,
                         .width = kWidth,
                         .height = kHeight,
                         .flow = std::make_shared<const std::vector<float>>(
                             ConstantFlow(kWidth, kHeight, static_cast<float>(learned_) / 10, 0))};
    if (!learns_) made.skipped = SkipReason::kRate;
    on_prediction_(std::move(made));
    learned_ += learns_ ? 1 : 0;
    return samples_++;
  }
  absl::Status AwaitRoom() override { return absl::OkStatus(); }
  void LearnFromEvery(int n) override { learns_ = n != 0; }
  void Freeze(bool /*frozen*/) override {}
  absl::Status SetLearningRate(double /*rate*/) override { return absl::OkStatus(); }
  [[nodiscard]] double learning_rate() const override { return 0; }
  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return 1; }
  absl::Status Drain() override { return absl::OkStatus(); }
  std::shared_ptr<const LearnerDescription> description() const override {
    return std::make_shared<const LearnerDescription>();
  }
  std::vector<std::int64_t> updates() const override { return {learned_}; }
  LearningFigures learning() const override { return {}; }
  const Resumption& resumption() const override { return resumption_; }

 private:
  const OnPrediction on_prediction_;
  const Resumption resumption_;
  std::int64_t samples_ = 0;
  std::int64_t learned_ = 0;
  bool learns_ = true;
};

class RetentionTest : public ::testing::Test {
 protected:
  // Windows of 10 pairs, tested as an evaluation does.
  [[nodiscard]] FlowRunOptions Options() const {
    const ClipSource clip = MadeClip("clip", kWidth, kHeight, pairs_);
    return {
        .clip = clip,
        .make =
            [](OnPrediction on_prediction) {
              return std::make_unique<CountingLearner>(std::move(on_prediction));
            },
        .window = seconds(1),
        .frozen = {
            {.name = "first", .clip = clip},
            {.name = "last", .clip = clip, .part = FrozenTest::Part::kLast},
            {.name = "other", .clip = MadeClip("other", kWidth, kHeight, others_), .other = true}}};
  }

  [[nodiscard]] static FlowRunResult Run(const FlowRunOptions& options) {
    absl::StatusOr<FlowRunResult> result = RunFlowAndCompare(options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : FlowRunResult();
  }

  // The loss ratio on ten pairs, for a learner that has learned from `learned` pairs.
  [[nodiscard]] static double RatioOf(const std::vector<ClipPair>& pairs, int from, int learned) {
    StreamScorer scorer(seconds(1), kWidth, kHeight);
    const auto flow = ConstantFlow(kWidth, kHeight, static_cast<float>(learned) / 10, 0);
    for (int i = from; i < from + 10; ++i) (void)scorer.Add(pairs[i], flow, false);
    return std::move(scorer).Finish().whole.loss.ratio();
  }

  std::mt19937 random_{7};
  const std::vector<ClipPair> pairs_ =
      RandomPairs(kPairs, kWidth, kHeight, milliseconds(100), random_);
  const std::vector<ClipPair> others_ =
      RandomPairs(15, kWidth, kHeight, milliseconds(100), random_);
};

TEST_F(RetentionTest, EachTestStandsBesideThatOfTheFirstWeights) {
  const FlowRunResult result = Run(Options());
  ASSERT_EQ(result.frozen.size(), 3u);
  EXPECT_DOUBLE_EQ(result.frozen[0].initial->loss.ratio(), RatioOf(pairs_, 0, 0));
  EXPECT_DOUBLE_EQ(result.frozen[1].initial->loss.ratio(), RatioOf(pairs_, 20, 0));
  EXPECT_DOUBLE_EQ(result.frozen[2].initial->loss.ratio(), RatioOf(others_, 0, 0));
}

TEST_F(RetentionTest, ForgettingIsSinceRightAfterTheFirstWindow) {
  const FlowRunResult result = Run(Options());
  ASSERT_TRUE(result.frozen[0].right_after.has_value());
  EXPECT_EQ(result.frozen[0].right_after->loss.predictions, 10);
  EXPECT_DOUBLE_EQ(result.frozen[0].right_after->loss.ratio(), RatioOf(pairs_, 0, 10));
  EXPECT_DOUBLE_EQ(*Forgetting(result.frozen[0]),
                   RatioOf(pairs_, 0, kPairs) - RatioOf(pairs_, 0, 10));
  EXPECT_NE(*Forgetting(result.frozen[0]), 0);
  EXPECT_EQ(Forgetting(result.frozen[1]), std::nullopt);
  EXPECT_EQ(Forgetting(result.frozen[2]), std::nullopt);
}

TEST_F(RetentionTest, TransferIsToOtherStreamsAlone) {
  const FlowRunResult result = Run(Options());
  EXPECT_EQ(Transfer(result.frozen[0]), std::nullopt);
  EXPECT_EQ(Transfer(result.frozen[1]), std::nullopt);
  EXPECT_DOUBLE_EQ(*Transfer(result.frozen[2]),
                   RatioOf(others_, 0, 0) - RatioOf(others_, 0, kPairs));
}

TEST_F(RetentionTest, MoreIsForgottenAndMoreCarriesOver) {
  const auto scores = [](double loss) {
    return StreamScores{.loss = {.loss = loss, .loss_no_motion = 0.5}, .flow = {}};
  };
  FlowRunResult::Frozen test{.name = "first", .scores = scores(0.4), .right_after = scores(0.3)};
  EXPECT_NEAR(*Forgetting(test), 0.2, 1e-12);
  test = {.name = "other", .scores = scores(0.4), .other = true, .initial = scores(0.5)};
  EXPECT_NEAR(*Transfer(test), 0.2, 1e-12);
  test.initial->loss.loss_no_motion = 0;
  EXPECT_EQ(Transfer(test), std::nullopt) << "nothing moved";
}

TEST_F(RetentionTest, WhereNothingCameAfterTheFirstWindowNothingIsForgotten) {
  FlowRunOptions options = Options();
  options.window = seconds(60);
  const FlowRunResult result = Run(options);
  EXPECT_EQ(result.frozen[0].right_after, std::nullopt);
  EXPECT_EQ(Forgetting(result.frozen[0]), std::nullopt);
  EXPECT_TRUE(result.frozen[0].initial.has_value());
}

TEST_F(RetentionTest, TheRunItselfIsAsWithoutAnyComparison) {
  const FlowRunResult compared = Run(Options());
  const FlowRunResult alone = *RunFlow(Options());
  EXPECT_EQ(compared.model.whole.loss.loss, alone.model.whole.loss.loss);
  EXPECT_EQ(compared.updates, alone.updates);
  for (std::size_t i = 0; i < alone.frozen.size(); ++i) {
    EXPECT_EQ(compared.frozen[i].scores.loss.loss, alone.frozen[i].scores.loss.loss);
    EXPECT_EQ(alone.frozen[i].initial, std::nullopt);
  }
}

TEST_F(RetentionTest, BehindACameraTheFirstWindowIsDroppedFromAlike) {
  FlowRunOptions options = Options();
  options.camera.emplace();
  for (int frame = 1; frame < kPairs; frame += 3) {
    options.camera->push_back({.frame = frame, .predicted = 40.0 * (frame + 2)});
  }
  options.camera_interval = 40;
  const FlowRunResult result = Run(options);
  // Of pairs 0 to 9, those numbered 1, 4 and 7.
  EXPECT_DOUBLE_EQ(result.frozen[0].right_after->loss.ratio(), RatioOf(pairs_, 0, 3));
}

TEST_F(RetentionTest, ProgressIsToldOfWhatIsLearnedFrom) {
  FlowRunOptions options = Options();
  int told = 0;
  options.on_pair = [&] { ++told; };
  (void)Run(options);
  EXPECT_EQ(told, kPairs + 10);
}

TEST_F(RetentionTest, WithoutTestsNothingIsCompared) {
  FlowRunOptions options = Options();
  options.frozen.clear();
  int learners = 0;
  options.make = [&, make = options.make](OnPrediction on_prediction) {
    ++learners;
    return make(std::move(on_prediction));
  };
  (void)Run(options);
  EXPECT_EQ(learners, 1);
}

}  // namespace
}  // namespace millrace::pipeline
