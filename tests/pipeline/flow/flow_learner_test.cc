#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/learner.h"
#include "tests/pipeline/support/learns.h"
#include "tests/pipeline/support/max_staleness.h"
#include "tests/pipeline/support/stepping_clock.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kSide = 64;

// A picture of stripes that have moved `shift` pixels to the right.
std::vector<std::uint8_t> Stripes(int shift) {
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const auto grey = static_cast<std::uint8_t>(128 + 100 * ((x - shift + 4 * y) / 7 % 2));
      rgb.insert(rgb.end(), 3, grey);
    }
  }
  return rgb;
}

struct Collected {
  OnPrediction callback() {
    return [this](ModelPrediction prediction) {
      const std::lock_guard lock(mu);
      predictions.push_back(std::move(prediction));
    };
  }
  std::mutex mu;
  std::vector<ModelPrediction> predictions;
};

TEST(FlowLearnerTest, PredictsEverySampleInOrderAndLearns) {
  constexpr int kSamples = 100;
  const FlowRun run = RunFlowLearner({.width = kSide, .height = kSide, .stages = 2},
                                     {.network = "flow"}, kSamples, Stripes);
  ASSERT_EQ(run.predictions.size(), std::size_t{kSamples});
  for (int i = 0; i < kSamples; ++i) {
    const ModelPrediction& prediction = run.predictions[i];
    EXPECT_EQ(prediction.sample, i);
    EXPECT_EQ(prediction.flow->size(), std::size_t{2} * kSide * kSide);
    EXPECT_TRUE(prediction.finite);
    EXPECT_GT(prediction.loss_no_motion, 0);
    // Scored before it was learned from: the last stage has learned from all before, and no more.
    EXPECT_EQ(prediction.updates, i);
  }
  EXPECT_THAT(run.updates, ElementsAre(kSamples, kSamples));
  EXPECT_THAT(run.stages_that_stood, IsEmpty());
  EXPECT_LT(LossLeft(run.Ratios()), kLearned);
}

// The losses of a learner whose optimizer changes before sample `change_at`.
std::vector<float> LossesOf(const OptimizerOptions& after, int change_at) {
  constexpr int kSamples = 30;
  Collected collected;
  auto learner = MakeFlowLearner({.width = kSide, .height = kSide, .stages = 2, .cuts = {5}}, {},
                                 collected.callback());
  EXPECT_TRUE(learner.ok()) << learner.status();
  for (int i = 0; i < kSamples; ++i) {
    if (i == change_at) {
      EXPECT_TRUE((*learner)->SetOptimizer(after).ok());
    }
    EXPECT_TRUE((*learner)->AwaitRoom().ok());
    EXPECT_TRUE((*learner)->Admit({Stripes(i), Stripes(i + 1)}).ok());
  }
  EXPECT_TRUE((*learner)->Drain().ok());
  std::vector<float> losses;
  for (const ModelPrediction& made : collected.predictions) losses.push_back(made.loss);
  return losses;
}

TEST(FlowLearnerTest, OtherOptionsOfTheOptimizerBeginWithTheNextSampleAdmitted) {
  const OptimizerOptions decays = {.weight_decay = 1};
  const std::vector<float> unchanged = LossesOf({}, 12);
  const std::vector<float> changed = LossesOf(decays, 12);
  ASSERT_EQ(unchanged.size(), 30u);
  ASSERT_EQ(changed.size(), 30u);
  // Sample 12 meets weights that have learned from all samples before.
  EXPECT_TRUE(std::equal(changed.begin(), changed.begin() + 12, unchanged.begin()));
  EXPECT_NE(changed[20], unchanged[20]);
  EXPECT_EQ(changed, LossesOf(decays, 12)) << "it does not depend on timing";
}

// Whatever is still on its way through the stages then: what is learned does not depend on timing.
TEST(FlowLearnerTest, LearningLessBeginsWithTheNextSampleAdmitted) {
  for (int round = 0; round < 5; ++round) {
    Collected collected;
    auto learner = MakeFlowLearner(
        {.width = kSide, .height = kSide, .schedule = "partime", .stages = 2, .cuts = {5}}, {},
        collected.callback());
    ASSERT_TRUE(learner.ok()) << learner.status();
    for (int i = 0; i < 12; ++i) {
      if (i == 6) (*learner)->LearnFromEvery(0);
      ASSERT_TRUE((*learner)->Admit({.previous = Stripes(i), .current = Stripes(i + 1)}).ok());
    }
    ASSERT_TRUE((*learner)->Drain().ok());
    ASSERT_EQ(collected.predictions.size(), 12U);
    for (const ModelPrediction& prediction : collected.predictions) {
      EXPECT_EQ(prediction.skipped, prediction.sample < 6 ? SkipReason::kNone : SkipReason::kRate)
          << prediction.sample;
    }
  }
}

TEST(FlowLearnerTest, TellsForHowLongItsStagesHaveWorked) {
  for (const bool learns : {true, false}) {
    auto learner =
        MakeFlowLearner({.width = kSide, .height = kSide, .stages = 2}, {}, [](ModelPrediction) {});
    ASSERT_TRUE(learner.ok()) << learner.status();
    if (!learns) (*learner)->LearnFromEvery(0);
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE((*learner)->Admit({.previous = Stripes(i), .current = Stripes(i + 1)}).ok());
    }
    ASSERT_TRUE((*learner)->Drain().ok());
    const std::vector<StageTime> worked = (*learner)->worked();
    ASSERT_EQ(worked.size(), 2U);
    for (const StageTime& stage : worked) {
      EXPECT_GT(stage.predicting, nanoseconds(0));
      EXPECT_EQ(stage.learning > nanoseconds(0), learns);
    }
  }
}

TEST(FlowLearnerTest, ColdANetworkWithoutAPriorStartsAtNoMotion) {
  Collected collected;
  auto learner = MakeFlowLearner({.width = kSide, .height = kSide, .stages = 1},
                                 {.network = "flow"}, collected.callback());
  ASSERT_TRUE((*learner)->Admit({.previous = Stripes(0), .current = Stripes(1)}).ok());
  ASSERT_TRUE((*learner)->Drain().ok());
  const ModelPrediction& first = collected.predictions.at(0);
  EXPECT_TRUE(std::all_of(first.flow->begin(), first.flow->end(), [](float v) { return v == 0; }));
  EXPECT_NEAR(first.loss, first.loss_no_motion, 1e-6);
}

void ExpectToLearn(const LearnerOptions& options, const FlowTaskOptions& task) {
  const FlowRun run = RunFlowLearner(options, task, 4, Stripes);
  EXPECT_THAT(run.updates, ElementsAre(4, 4));
  EXPECT_THAT(run.stages_that_stood, IsEmpty());
  for (const ModelPrediction& prediction : run.predictions) {
    EXPECT_TRUE(prediction.finite);
    EXPECT_EQ(prediction.terms.size(), FlowLossTerms(task.loss).size());
    EXPECT_EQ(prediction.flow->size(), std::size_t{2} * kSide * kSide);
  }
}

TEST(FlowLearnerTest, LearnsByAnyObjectiveOneWayAndBothWays) {
  for (const std::string& name : FlowLossNames()) {
    for (const bool occlusion : {false, true}) {
      SCOPED_TRACE(name);
      if (occlusion && !KnowsHiddenPixels(*FlowLossKind(name))) continue;
      ExpectToLearn(
          {.width = kSide, .height = kSide, .stages = 2, .optimizer = {.learning_rate = 1e-6}},
          {.loss = {.kind = *FlowLossKind(name), .occlusion = occlusion}});
    }
  }
}

// A picture of waves that have moved `shift` pixels to the right.
std::vector<std::uint8_t> Waves(int shift) {
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double wave = std::sin((x - shift) * 0.35) * std::cos(y * 0.28 + (x - shift) * 0.1);
      rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(128 + 100 * wave));
    }
  }
  return rgb;
}

// Waves that go on as they went: from two pictures the third can be known.
TEST(FlowLearnerTest, TheNextFrameIsForetoldEverBetterUnderAnySchedule) {
  for (const std::string schedule : {"sequential", "partime"}) {
    const bool is_whole = schedule == "sequential";
    Collected collected;
    auto learner = MakeFlowLearner({.width = kSide,
                                    .height = kSide,
                                    .schedule = schedule,
                                    .stages = is_whole ? 1 : 3,
                                    // By measured costs, each run would learn otherwise.
                                    .cuts = is_whole ? std::vector<int>() : std::vector<int>{4, 8},
                                    .optimizer = {.learning_rate = 1e-4}},
                                   {.network = "flow", .next_frame = true}, collected.callback());
    ASSERT_TRUE(learner.ok()) << learner.status();
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(
          (*learner)
              ->Admit({.previous = Waves(i + 1), .current = Waves(i + 2), .before = Waves(i)})
              .ok());
    }
    ASSERT_TRUE((*learner)->Drain().ok());
    ASSERT_EQ(collected.predictions.size(), 200U);
    const ModelPrediction& first = collected.predictions.front();
    const ModelPrediction& last = collected.predictions.back();
    EXPECT_EQ(first.loss, first.loss_no_motion) << schedule;
    EXPECT_LT(last.loss, 0.9F * last.loss_no_motion) << schedule;
    EXPECT_EQ(last.flow->size(), std::size_t{2} * kSide * kSide);
  }
}

// But FlowNetS, whose updates take a second each.
TEST(FlowLearnerTest, AnyNetworkLearnsAsItWasPublished) {
  for (const std::string network : {"ndconv", "resunet"}) {
    SCOPED_TRACE(network);
    ExpectToLearn(
        {.width = kSide, .height = kSide, .stages = 2, .optimizer = {.learning_rate = 1e-6}},
        {.network = network,
         .loss = {.kind = FlowLossOptions::Kind::kPhotoAndSmooth, .smoothness = 1}});
  }
}

// Each level from its own loss: the coarse ones, too, whatever comes of the prediction.
TEST(FlowLearnerTest, LevelsLearnFromLossesOfTheirOwn) {
  for (const int stages : {1, 2, 3}) {
    // From the tenth on the picture stands still, which teaches no level anything.
    const FlowRun run =
        RunFlowLearner({.width = kSide, .height = kSide, .schedule = "local", .stages = stages},
                       {.network = "levels"}, 20, [](int i) { return Stripes(std::min(i, 10)); });
    const std::vector<std::size_t> begins = {3, 6};
    EXPECT_EQ(run.description.cuts(),
              (std::vector<std::size_t>(begins.end() - (stages - 1), begins.end())));
    for (const StageDescription& stage : run.description.stages) {
      EXPECT_THAT(stage.layers.front(), HasSubstr("pyramid"));
    }
    EXPECT_EQ(run.predictions.size(), 20U);
    EXPECT_THAT(run.updates, ::testing::Each(10)) << stages;
    EXPECT_THAT(run.stages_that_stood, IsEmpty()) << stages;
    EXPECT_EQ(run.description.stages.front().staleness, 0);
  }
}

TEST(FlowLearnerTest, DescribesTheStagesAsTheyWereCut) {
  auto learner = MakeFlowLearner(
      {.width = kSide, .height = kSide, .schedule = "partime", .stages = 3, .cuts = {4, 6}}, {},
      [](ModelPrediction) {});
  ASSERT_TRUE(learner.ok()) << learner.status();
  const LearnerDescription description = *(*learner)->description();
  EXPECT_EQ(description.schedule, "partime");
  ASSERT_EQ(description.stages.size(), 3U);
  EXPECT_EQ(description.stages[0].layers.size(), 4U);
  EXPECT_EQ(description.stages[0].staleness, 4);
  EXPECT_EQ(description.stages[0].mismatch, 4);
  EXPECT_EQ(description.stages[2].staleness, 0);
  EXPECT_GT(description.samples_per_second, description.sequential_samples_per_second);
  EXPECT_GT(description.delay_ms, 0);
}

// One frame a second, for which no stage needs to be stale; then operations take half a second and
// more.
class ReplanningTest : public ::testing::Test {
 protected:
  void Start(double replan_share) {
    auto learner = MakeFlowLearner({.width = kSide,
                                    .height = kSide,
                                    .schedule = "auto",
                                    .stages = 2,
                                    .frames_per_second = 1,
                                    .replan_share = replan_share,
                                    .clock = &clock_},
                                   {}, collected_.callback());
    ASSERT_TRUE(learner.ok()) << learner.status();
    learner_ = *std::move(learner);
    ASSERT_EQ(MaxStaleness(*learner_->description()), 0);
  }
  void Admit() {
    ASSERT_TRUE(learner_->AwaitRoom().ok());
    const auto number =
        learner_->Admit({.previous = Stripes(admitted_), .current = Stripes(admitted_ + 1)});
    ASSERT_TRUE(number.ok()) << number.status();
    ASSERT_EQ(*number, admitted_);
    ++admitted_;
  }

  SteppingClock clock_;
  Collected collected_;
  std::unique_ptr<Learner> learner_;
  int admitted_ = 0;
};

TEST_F(ReplanningTest, SlowerOperationsLeadToAnotherPlanAndNoSampleIsLost) {
  Start(/*replan_share=*/0.25);
  for (int i = 0; i < 20; ++i) Admit();
  clock_.set_step(std::chrono::milliseconds(500));
  // Until it has planned: the test's time limit is the only one.
  while (!HasFailure() && learner_->description()->rate_plan->switched == 0) Admit();
  const auto switched = learner_->description();
  EXPECT_GT(MaxStaleness(*switched), 0);
  EXPECT_THAT(switched->rate_plan->why, HasSubstr("00 ms instead of"));
  for (int i = 0; i < 20; ++i) Admit();
  ASSERT_TRUE(learner_->Drain().ok());

  ASSERT_EQ(collected_.predictions.size(), static_cast<std::size_t>(admitted_));
  for (int i = 0; i < admitted_; ++i) EXPECT_EQ(collected_.predictions[i].sample, i);
  EXPECT_EQ(learner_->updates().size(), switched->stages.size());
}

TEST_F(ReplanningTest, WithoutAShareThePlanStays) {
  Start(/*replan_share=*/0);
  clock_.set_step(std::chrono::milliseconds(500));
  for (int i = 0; i < 100; ++i) Admit();
  ASSERT_TRUE(learner_->Drain().ok());
  EXPECT_EQ(MaxStaleness(*learner_->description()), 0);
  EXPECT_EQ(learner_->description()->rate_plan->kept, 0);
}

TEST_F(ReplanningTest, DescribesTheRateAtWhichItReallyLearns) {
  Start(/*replan_share=*/0);
  const auto from_every = learner_->description();
  EXPECT_TRUE(from_every->rate_plan->holds);
  EXPECT_EQ(from_every->rate_plan->frames_per_second, 1);
  EXPECT_THAT(from_every->rate_plan->limit, HasSubstr("alone takes"));
  learner_->LearnFromEvery(4);
  const auto from_some = learner_->description();
  EXPECT_EQ(from_every->update_every, 1) << "what was handed out stays";
  EXPECT_EQ(from_some->update_every, 4);
  EXPECT_GT(from_some->samples_per_second, from_every->samples_per_second);
  learner_->LearnFromEvery(0);
  EXPECT_GT(learner_->description()->samples_per_second, from_some->samples_per_second);
}

TEST(FlowLearnerTest, BadOptionsSayWhatIsAllowed) {
  struct Bad {
    LearnerOptions options;
    FlowTaskOptions task;
    const char* message;
  };
  const std::vector<Bad> all = {
      {{.width = 100, .height = 64}, {}, "multiples of 16"},
      {{.width = 64, .height = 48}, {}, "at least 64"},
      {{.width = 64, .height = 64, .schedule = "fast"},
       {},
       "use one of: sequential, one_f_one_b_star"},
      {{.width = 64, .height = 64, .schedule = "local"}, {}, "levels, not refine"},
      {{.width = 64, .height = 64, .schedule = "local", .stages = 4},
       {.network = "levels"},
       "stages, not 4"},
      {{.width = 64, .height = 64},
       {.loss = {.kind = FlowLossOptions::Kind::kHs, .occlusion = true}},
       "occlusion is for the losses"},
      {{.width = 64, .height = 64},
       {.loss = {.occlusion = true}, .next_frame = true},
       "not for the next frame"},
      {{.width = 64, .height = 64, .schedule = "local", .cuts = {4}},
       {.network = "levels"},
       "at one of the layers 3, 6, not 4"},
      {{.width = 64, .height = 64, .stages = 40}, {}, "ask for 1 to"},
      {{.width = 64, .height = 64, .stages = 3, .cuts = {2}}, {}, "3 stages have 2 cuts, not 1"},
      {{.width = 64, .height = 64, .stages = 1, .cuts = {2}}, {}, "1 stage has 0 cuts, not 1"},
      {{.width = 64, .height = 64, .stages = 2, .cuts = {99}}, {}, "cut 99 is not allowed"},
      {{.width = 64, .height = 64, .schedule = "auto"}, {}, "say the camera's frames_per_second"},
      {{.width = 64, .height = 64, .replan_share = -1}, {}, "must not be negative; 0: never"},
      {{.width = 64, .height = 64, .optimizer = {.learning_rate = -1}}, {}, "from 0 to 1,000,000"},
      {{.width = 64, .height = 64},
       {.loss = {.smoothness = -1}},
       "smoothness must not be negative"},
      {{.width = 64, .height = 64, .threads_per_stage = 0}, {}, "at least one thread"},
  };
  for (const Bad& bad : all) {
    const auto learner = MakeFlowLearner(bad.options, bad.task, [](ModelPrediction) {});
    EXPECT_EQ(learner.status().code(), absl::StatusCode::kInvalidArgument) << bad.message;
    EXPECT_THAT(learner.status().message(), HasSubstr(bad.message));
  }
  const auto missing = MakeFlowLearner({.width = 64, .height = 64, .weights = "nowhere/flow.pt"},
                                       {}, [](ModelPrediction) {});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("nowhere/flow.pt"));
}

TEST(FlowLearnerTest, TheNextFrameTakesThreePicturesAndFlowTwo) {
  for (const bool next_frame : {false, true}) {
    auto learner = MakeFlowLearner({.width = kSide, .height = kSide, .schedule = "sequential"},
                                   {.next_frame = next_frame}, [](const ModelPrediction&) {});
    ASSERT_TRUE(learner.ok()) << learner.status();
    Sample other{.previous = {}, .current = {}};
    const std::vector<std::uint8_t> picture = Stripes(0);
    other.previous = picture;
    other.current = picture;
    if (!next_frame) other.before = picture;
    const absl::Status refused = (*learner)->Admit(other).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(next_frame ? "three" : "two"));
  }
}

TEST(FlowLearnerTest, PicturesOfAnotherSizeAreRefusedAndLoseNothing) {
  Collected collected;
  auto learner =
      MakeFlowLearner({.width = kSide, .height = kSide, .stages = 2}, {}, collected.callback());
  const std::vector<std::uint8_t> small(3 * 32 * 32);
  EXPECT_EQ((*learner)->Admit({.previous = small, .current = small}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*(*learner)->Admit({.previous = Stripes(0), .current = Stripes(1)}), 0);
  ASSERT_TRUE((*learner)->Drain().ok());
  EXPECT_EQ(collected.predictions.size(), 1U);
}

}  // namespace
}  // namespace millrace::pipeline
