// A split backward changes when a gradient exists, and no bit of it.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {
namespace {

class SplitBackwardTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SplitBackwardTest, LearnsTheSameBits) {
  const std::vector<at::Tensor> inputs = SmallInputs(53);
  SmallRun whole{.schedule = GetParam(), .stages = 3};
  whole.request.switch_at = 20;
  SmallRun split = whole;
  split.splits_backward = true;
  split.make_chain = SplitChain;
  ExpectEqual(InTheEngine(split, inputs), Serially(whole, inputs));
}

std::vector<std::string> OthersThanItself() {
  std::vector<std::string> names = ScheduleNames();
  std::erase(names, "one_f_one_b_one_w");
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, SplitBackwardTest, ::testing::ValuesIn(OthersThanItself()),
                         [](const auto& test) { return test.param; });

TEST(SplitBackwardStageTest, AWeightGetsItsGradientFromTheWeightGradient) {
  const LayerChain chain = SmallChain(/*with_skip=*/false, /*splits=*/true);
  Plan plan = *MakePlan("sequential", {.shape = ShapeOf(chain, {3}), .costs = {2, kAssumedCost}});
  SplitBackwards(plan);
  StagedNetwork network({.chain = chain, .cuts = {3}, .plan = plan, .loss = ByInput()});
  network.Admit(0, SmallInputs(1)[0]);
  const at::Tensor weight = chain.layers[0]->parameters()[0];
  for (const OperationKind kind : {OperationKind::kForward, OperationKind::kBackward}) {
    for (const int stage :
         kind == OperationKind::kForward ? std::vector{1, 2} : std::vector{2, 1}) {
      EXPECT_TRUE(network.Run({kind, stage, 0, 0}));
      EXPECT_FALSE(weight.grad().defined());
    }
  }
  EXPECT_TRUE(network.Run({OperationKind::kWeightGradient, 1, 0, 0}));
  EXPECT_TRUE(weight.grad().defined());
}

TEST(SplitBackwardStageTest, ASampleThatTeachesNothingHasNoWeightGradient) {
  const LayerChain chain = SmallChain(/*with_skip=*/false, /*splits=*/true);
  Plan plan = *MakePlan("sequential", {.shape = ShapeOf(chain, {}), .costs = {1, kAssumedCost}});
  SplitBackwards(plan);
  StagedNetwork network({.chain = chain, .plan = plan, .loss = ByInput()});
  network.Admit(0, SmallInputs(1)[0] * INFINITY);
  EXPECT_TRUE(network.Run({OperationKind::kForward, 1, 0, 0}));
  EXPECT_FALSE(network.Run({OperationKind::kBackward, 1, 0, 0}));
  EXPECT_FALSE(network.Run({OperationKind::kWeightGradient, 1, 0, 0}));
  EXPECT_FALSE(network.Run({OperationKind::kUpdate, 1, 0, 0}));
  EXPECT_FALSE(chain.layers[0]->parameters()[0].grad().defined());
}

}  // namespace
}  // namespace millrace::pipeline
