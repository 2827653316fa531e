#include "service/stream/plan_text.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

pipeline::LearnerDescription OneStage() {
  pipeline::LearnerDescription learner;
  learner.schedule = "auto: one_f_one_b_star";
  learner.stages = {{.layers = {"a", "b"}, .device = "cpu:0", .forward_ms = 20, .backward_ms = 40}};
  learner.samples_per_second = 16.7;
  learner.rate_plan = {.frames_per_second = 10};
  return learner;
}

TEST(DescribeReplanTest, SaysWhyAndFromWhatToWhat) {
  pipeline::LearnerDescription after = OneStage();
  after.stages = {{.layers = {"a"}, .device = "cpu:0", .forward_ms = 30, .backward_ms = 30},
                  {.layers = {"b"}, .device = "cpu:1", .forward_ms = 30, .backward_ms = 32}};
  after.samples_per_second = 16.1;
  after.update_every = 2;
  after.rate_plan->switched = 1;
  after.rate_plan->why = "stage 1 takes 122 ms a sample instead of 60";
  EXPECT_EQ(TimesReplanned(after), 1);
  EXPECT_EQ(DescribeReplan(OneStage(), after),
            "planned again, as stage 1 takes 122 ms a sample instead of 60: auto: "
            "one_f_one_b_star, 1 stage on 1 thread (cpu:0): 60 ms -> auto: one_f_one_b_star, 2 "
            "stages on 2 threads (cpu:0 cpu:1), cut at layer 1: 60 + 62 ms, 16.1 frames a second, "
            "learning from one frame in 2");
}

TEST(DescribeReplanTest, SaysWhenThePlanIsKept) {
  pipeline::LearnerDescription after = OneStage();
  after.stages[0].backward_ms = 60;
  after.rate_plan->kept = 1;
  after.rate_plan->why = "stage 1 takes 80 ms a sample instead of 60";
  EXPECT_EQ(DescribeReplan(OneStage(), after),
            "planned again, as stage 1 takes 80 ms a sample instead of 60: keeps auto: "
            "one_f_one_b_star, 1 stage on 1 thread (cpu:0): 80 ms, 16.7 frames a second");
}

// On a busy machine a line came every 11 s, though nothing changed.
TEST(ReplanIsNewsTest, UnlessAllStaysAsItWas) {
  pipeline::LearnerDescription kept = OneStage();
  kept.stages[0].backward_ms = 60;
  kept.rate_plan->kept = 1;
  EXPECT_FALSE(ReplanIsNews(OneStage(), kept));
  pipeline::LearnerDescription switched = OneStage();
  switched.rate_plan->switched = 1;
  EXPECT_TRUE(ReplanIsNews(OneStage(), switched));
  pipeline::LearnerDescription learns_less = kept;
  learns_less.update_every = 2;
  EXPECT_TRUE(ReplanIsNews(OneStage(), learns_less));
  pipeline::LearnerDescription drops = kept;
  drops.rate_plan->holds = !drops.rate_plan->holds;
  EXPECT_TRUE(ReplanIsNews(OneStage(), drops));
}

TEST(DescribePlanTest, StagesOfAGpuShareADevice) {
  pipeline::LearnerDescription learner = OneStage();
  learner.stages = {{.layers = {"a"}, .device = "cuda:0", .forward_ms = 2, .backward_ms = 3},
                    {.layers = {"b"}, .device = "cuda:0", .forward_ms = 3, .backward_ms = 3}};
  EXPECT_EQ(DescribePlan(learner),
            "auto: one_f_one_b_star, 2 stages on 1 device (cuda:0), cut at layer 1: 5 + 6 ms");
}

}  // namespace
}  // namespace millrace::service
