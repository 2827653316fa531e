#include "pipeline/ranks/rank_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/schedule_cases.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

class TasksOfSchedules : public ::testing::TestWithParam<ScheduleCase> {};

TEST_P(TasksOfSchedules, ComeBackAsTheyWere) {
  const int stages = GetParam().request.shape.stages;
  RankTask task{
      .flow = FlowRankNetwork{.name = "refine", .channels = 3, .next_frame = true},
      .labels =
          LabelRankNetwork{
              .name = "mlp", .layers = 5, .width = 6, .outputs = 7, .sample_shape = {1, 8, 9}},
      .phases = {},
      .rank_of_stage = std::vector<int>(stages, 0),
      .cuts = Cuts(stages - 1, 2),
      .optimizer = {.kind = OptimizerOptions::Kind::kSgd,
                    .learning_rate = 0.1 + 0.2,
                    .momentum = 0.3,
                    .nesterov = true,
                    .weight_decay = 1e-300,
                    .beta1 = 0.7,
                    .beta2 = 0.8,
                    .eps = 3e-9,
                    .clip_norm = 4,
                    .pipemare_steps = 12,
                    .measures_cosine = true},
      .stage_rates = std::vector<double>(stages, 0.1),
      .seed = UINT64_MAX,
      .threads_per_stage = 3,
      .copy_every = 11,
      .measures_links = true,
      .local_loss = "l1"};
  task.rank_of_stage.front() = stages > 1 ? 1 : 0;
  auto phases = MakePhases(GetParam().schedule, GetParam().request);
  ASSERT_TRUE(phases.ok()) << phases.status();
  task.phases = *phases;
  const auto back = TaskOf(TextOf(task));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->phases.size(), task.phases.size());
  for (std::size_t i = 0; i < task.phases.size(); ++i) {
    EXPECT_EQ(back->phases[i].plan, task.phases[i].plan);
    EXPECT_EQ(back->phases[i].first_sample, task.phases[i].first_sample);
  }
  EXPECT_EQ(back->rank_of_stage, task.rank_of_stage);
  EXPECT_EQ(back->cuts, task.cuts);
  EXPECT_EQ(back->optimizer, task.optimizer);
  EXPECT_EQ(back->stage_rates, task.stage_rates);
  EXPECT_EQ(back->seed, task.seed);
  EXPECT_EQ(back->threads_per_stage, 3);
  EXPECT_EQ(back->copy_every, 11);
  EXPECT_TRUE(back->measures_links);
  ASSERT_TRUE(back->flow.has_value());
  EXPECT_EQ(back->flow->name, "refine");
  EXPECT_EQ(back->flow->channels, 3);
  EXPECT_TRUE(back->flow->next_frame);
  EXPECT_FALSE(back->flow->occlusion);
  ASSERT_TRUE(back->labels.has_value());
  EXPECT_EQ(back->labels->name, "mlp");
  EXPECT_EQ(back->labels->layers, 5);
  EXPECT_EQ(back->labels->width, 6);
  EXPECT_EQ(back->labels->outputs, 7);
  EXPECT_EQ(back->labels->sample_shape, task.labels->sample_shape);
  EXPECT_EQ(back->local_loss, "l1");
}

INSTANTIATE_TEST_SUITE_P(All, TasksOfSchedules, ::testing::ValuesIn(AllScheduleCases()),
                         [](const auto& test) { return test.param.name; });

RankTask TwoStages() {
  ScheduleRequest request{.shape = {.stages = 2}};
  request.costs.assign(2, kAssumedCost);
  return {
      .flow = {}, .phases = *MakePhases("partime", request), .rank_of_stage = {1, 0}, .cuts = {1}};
}

std::string Refusal(const std::string& text) {
  const auto task = TaskOf(text);
  EXPECT_EQ(task.status().code(), absl::StatusCode::kDataLoss);
  return std::string(task.status().message());
}

TEST(RankTaskTest, WhatIsNoTaskIsRefused) {
  EXPECT_THAT(Refusal("garbage"), HasSubstr("cannot be read"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("cannot be read"));
  RankTask task = TwoStages();
  const std::string text = TextOf(task);
  for (std::size_t size = 0; size < text.size(); size += 17) Refusal(text.substr(0, size));
  task.phases.clear();
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("it has no plan"));
}

TEST(RankTaskTest, PlansThatCannotRunAreRefused) {
  RankTask task = TwoStages();
  task.rank_of_stage = {0, 1};
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("the last stage is on rank 0"));
  task = TwoStages();
  task.phases[0].plan.channels[0].slots = 0;
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("cannot run"));
  task = TwoStages();
  task.phases[0].plan.devices.pop_back();
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("cannot run"));
  task = TwoStages();
  task.cuts = {1, 2};
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("its numbers do not fit its plans"));
  task = TwoStages();
  task.optimizer.learning_rate = -1;
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("cannot run"));
  task = TwoStages();
  task.phases.push_back(task.phases.front());
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("do not follow each other"));
  task = TwoStages();
  task.phases[0].plan.devices[0][0].kind = static_cast<OperationKind>(9);
  EXPECT_THAT(Refusal(TextOf(task)), HasSubstr("a number is out of range"));
}

}  // namespace
}  // namespace millrace::pipeline
