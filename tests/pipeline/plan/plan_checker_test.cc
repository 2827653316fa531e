#include "pipeline/plan/plan_checker.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

struct Mistake {
  const char* name;
  std::function<void(Plan&)> make;
  const char* message;
};

/// Makes patterns of two samples: each operation comes once more, for the second, that much later.
void AddSecondSample(Plan& plan, int periods_later) {
  plan.samples_per_pattern = 2;
  for (auto& order : plan.devices) {
    const std::vector<Operation> once = order;
    for (Operation operation : once) {
      operation.first = 1;
      operation.shift += periods_later;
      order.push_back(operation);
    }
  }
}

std::vector<Mistake> MistakesOfShape() {
  return {
      {"no stages", [](Plan& p) { p.stages.clear(); }, "no stages"},
      {"empty pattern", [](Plan& p) { p.samples_per_pattern = 0; }, "at least one sample"},
      {"channel backwards", [](Plan& p) { p.channels.push_back({.from = 2, .to = 1}); },
       "from stage 2 to 1"},
      {"channel to nowhere", [](Plan& p) { p.channels.push_back({.from = 2, .to = 9}); },
       "from stage 2 to 9"},
      {"no slot", [](Plan& p) { p.channels[0].slots = 0; }, "at least one slot"},
      {"stages not joined", [](Plan& p) { p.channels.erase(p.channels.begin() + 1); },
       "no channel joins stage 1 and stage 2"},
  };
}

std::vector<Mistake> MistakesOfOperations() {
  return {
      {"stage out of range", [](Plan& p) { p.devices[0][0].stage = 7; }, "names stage 7 of 3"},
      {"sample outside the pattern", [](Plan& p) { p.devices[0][0].first = 1; },
       "outside its pattern"},
      {"operation missing", [](Plan& p) { p.devices[1].pop_back(); },
       "stage 2 lacks the update of sample 0"},
      {"operation twice", [](Plan& p) { p.devices[1].push_back(p.devices[1].front()); },
       "F2(0) does the forward of sample 0 a second time"},
      {"the place is marked", [](Plan& p) { p.devices[1].push_back(p.devices[1].front()); },
       "device 1   F2(0)-1 B2(0)-2 U2(0)-2 F2(0)-1 <-- here"},
      {"patterns out of order", [](Plan& p) { AddSecondSample(p, /*periods_later=*/1); },
       "which is of the pattern after it"},
      {"standstill", [](Plan& p) { p.devices[0][1].shift = p.devices[0][2].shift = 0; },
       "standstill"},
  };
}

std::vector<Mistake> MistakesOfDevices() {
  return {
      {"gradients on two devices", [](Plan& p) { std::swap(p.devices[0][1], p.devices[1][1]); },
       "stage 1 goes backward on device 1 and has its updates on device 0"},
      {"a race for the weights", [](Plan& p) { std::swap(p.devices[0][0], p.devices[1][0]); },
       "F1(0) is on another device than its stage's updates"},
      {"one kind on two devices",
       [](Plan& p) {
         AddSecondSample(p, /*periods_later=*/0);
         p.devices[1].push_back(p.devices[0].back());
         p.devices[0].pop_back();
       },
       "each kind of a stage has one device"},
  };
}

std::vector<Mistake> MistakesOfWeights() {
  return {
      {"negative lag",
       [](Plan& p) {
         p.devices[0][0].weights = {WeightsRead::Which::kLag, -1};
       },
       "negative lag"},
      {"a forward on a forward's weights",
       [](Plan& p) { p.devices[0][0].weights.which = WeightsRead::Which::kForward; },
       "cannot read the weights of a forward"},
      {"too few versions",
       [](Plan& p) { p.devices[0][1].weights.which = WeightsRead::Which::kForward; },
       "holds 1 versions of its weights and needs 3"},
      {"no version", [](Plan& p) { p.stages[0].versions = 0; }, "at least one version"},
      {"negative lead", [](Plan& p) { p.stages[0].lead = -1; }, "negative lead"},
      {"too few slots", [](Plan& p) { p.stages[0].slots = 2; },
       "has 2 slots for activations and needs 3"},
  };
}

// Of plans whose stages run F, B, W, U.
std::vector<Mistake> MistakesOfSplitBackwards() {
  return {
      {"no weight gradient", [](Plan& p) { p.devices[1].erase(p.devices[1].begin() + 2); },
       "stage 2 lacks the weight gradient of sample 0"},
      {"a weight gradient too many", [](Plan& p) { p.stages[1].splits_backward = false; },
       "W2(0) is of a stage whose backwards compute the gradients of the weights"},
      {"a version of the weights",
       [](Plan& p) {
         p.devices[0][2].weights = {WeightsRead::Which::kLag, 1};
       },
       "W1(0) reads no weights: it cannot name their version"},
      {"gradients on two devices", [](Plan& p) { std::swap(p.devices[0][2], p.devices[1][2]); },
       "stage 1 goes backward on device 0 and has its weight gradients on device 1"},
      {"another order",
       [](Plan& p) {
         AddSecondSample(p, /*periods_later=*/0);
         std::swap(p.devices[0][2].first, p.devices[0][6].first);
       },
       "B1(0) is not followed by its weight gradient"},
      {"an update of half a gradient",
       [](Plan& p) { p.devices[0][2].shift = ++p.devices[0][3].shift; },
       "B1(0) is not followed by its weight gradient"},
      {"a slot that its weight gradient still reads", [](Plan& p) { --p.stages[1].slots; },
       "stage 2 has 1 slots for activations and needs 2"},
  };
}

void ExpectRefused(const Mistake& mistake, const std::string& schedule = "one_f_one_b_star") {
  Plan plan = PlanOf(schedule, 3);
  ASSERT_TRUE(CheckPlan(plan).ok());
  mistake.make(plan);
  const auto figures = CheckPlan(plan);
  EXPECT_EQ(figures.status().code(), absl::StatusCode::kInvalidArgument) << mistake.name;
  EXPECT_THAT(figures.status().message(), HasSubstr(mistake.message)) << mistake.name;
}

TEST(PlanCheckerTest, EveryMistakeIsNamed) {
  for (const auto& mistakes :
       {MistakesOfShape(), MistakesOfOperations(), MistakesOfDevices(), MistakesOfWeights()}) {
    for (const Mistake& mistake : mistakes) ExpectRefused(mistake);
  }
  for (const Mistake& mistake : MistakesOfSplitBackwards()) {
    ExpectRefused(mistake, "one_f_one_b_one_w");
  }
}

TEST(PlanCheckerTest, GradientsOfAPatternAreSummedUntilItsUpdate) {
  // One stage, patterns of three samples: F B F B F B U.
  Plan plan{.schedule = "summed",
            .samples_per_pattern = 3,
            .stages = {{}},
            .channels = {{}},
            .devices = {{}}};
  for (int sample = 0; sample < 3; ++sample) {
    plan.devices[0].push_back({.kind = OperationKind::kForward, .first = sample});
    plan.devices[0].push_back({.kind = OperationKind::kBackward, .first = sample});
  }
  plan.devices[0].push_back({.kind = OperationKind::kUpdate, .count = 3});
  const auto figures = CheckPlan(plan);
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_EQ(figures->front().staleness, 0);
  EXPECT_EQ(figures->front().slots, 1);
}

TEST(PlanCheckerTest, PartimeMeetsTheWeightsThatMadeItsActivations) {
  const auto figures = CheckPlan(PlanOf("partime", 3));
  ASSERT_TRUE(figures.ok());
  for (const StageFigures& stage : *figures) {
    EXPECT_EQ(stage.weight_gap, 0);
    EXPECT_EQ(stage.gradient_age, 0);
  }
}

}  // namespace
}  // namespace millrace::pipeline
