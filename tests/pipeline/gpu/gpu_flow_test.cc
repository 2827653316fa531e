// The learner of optical flow on a GPU.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>

#include "base/usable_cores.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/learner.h"
#include "pipeline/scenes/generated_stream.h"
#include "tests/pipeline/gpu/gpu_tests.h"

namespace millrace::pipeline {
namespace {

// Where it is built, unless it was packed to run elsewhere.
std::string StartOf(const std::string& network) {
  const char* const packed = std::getenv("MILLRACE_WEIGHTS");
  return std::string(packed != nullptr ? packed : MILLRACE_WEIGHTS) + "/" + network +
         "-start.safetensors";
}

class FlowOnAGpu : public Captured {};
INSTANTIATE_TEST_SUITE_P(OrNot, FlowOnAGpu, ::testing::Bool());

// The losses of the whole learner of optical flow, from weights that have learned: RMSprop makes a
// step of the same length of gradients that are nothing but rounding, and there are many of those
// at first.
std::vector<float> LossesOf(const std::string& network, const std::string& device, bool captures,
                            Precision precision = Precision::kFloat32) {
  constexpr int kSide = 64;
  constexpr int kPairs = 40;
  std::mutex mu;
  std::vector<float> losses;
  auto learner = MakeFlowLearner({.width = kSide,
                                  .height = kSide,
                                  .stages = 2,
                                  .request = {.period = 0.001},
                                  .cuts = {network == "flow" ? 6 : 2},
                                  .weights = StartOf(network),
                                  .devices = {device},
                                  .captures = captures},
                                 {.network = network,
                                  .precision = precision,
                                  .loss = {.smoothness = UsualSmoothness(network)}},
                                 [&](const ModelPrediction& prediction) {
                                   const std::lock_guard lock(mu);
                                   losses.push_back(prediction.loss);
                                 },
                                 {.on_not_captured = [](int stage, const std::string& why) {
                                   ADD_FAILURE() << stage << ": " << why;
                                 }});
  EXPECT_TRUE(learner.ok()) << learner.status();
  GeneratedStream stream({.width = kSide, .height = kSide});
  for (int i = 0; i < kPairs; ++i) {
    const GeneratedPair pair = stream.Next();
    EXPECT_TRUE((*learner)->AwaitRoom().ok());
    EXPECT_TRUE(
        (*learner)->Admit({.previous = pair.previous_rgb, .current = pair.current_rgb}).ok());
  }
  EXPECT_TRUE((*learner)->Drain().ok());
  return losses;
}

void ExpectNear(const std::vector<float>& made, const std::vector<float>& expected, float share) {
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_NEAR(made[i], expected[i], share * expected[i]) << i;
  }
}

TEST_P(FlowOnAGpu, TheLearnerOfOpticalFlowLearnsAsOnTheCpu) {
  for (const std::string network : {"flow", "refine"}) {
    SCOPED_TRACE(network);
    ExpectNear(LossesOf(network, "cuda:0", GetParam()), LossesOf(network, "cpu", false), 0.03F);
  }
}

class PriorDeathTest : public GpuTest {};

// The first learner of a process decides, so the statement runs in a process of its own.
TEST_F(PriorDeathTest, BesideAGpuItHasSeveralThreadsOfTheCpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto threads = [](const std::vector<std::string>& devices) {
    SetPriorThreads(devices);
    return cv::getNumThreads();
  };
  EXPECT_EXIT(std::exit(threads({"cuda:0"})),
              ::testing::ExitedWithCode(std::clamp(static_cast<int>(UsableCores()), 1, 4)), "");
  EXPECT_EXIT(std::exit(threads({"cpu", "cuda:0"})), ::testing::ExitedWithCode(1), "");
}

// With the weights that its stages have by then, which they may be at work on.
TEST_P(FlowOnAGpu, ALearnerOnAGpuCanBeAsked) {
  constexpr int kSide = 64;
  std::vector<float> losses;
  auto learner = MakeFlowLearner({.width = kSide,
                                  .height = kSide,
                                  .schedule = "sequential",
                                  .stages = 1,
                                  .weights = StartOf("flow"),
                                  .devices = {"cuda:0"},
                                  .captures = GetParam()},
                                 {.network = "flow"}, [&](const ModelPrediction& prediction) {
                                   losses.push_back(prediction.loss);
                                 });
  ASSERT_TRUE(learner.ok()) << learner.status();
  GeneratedStream stream({.width = kSide, .height = kSide});
  std::vector<float> asked;
  for (int i = 0; i < 10; ++i) {
    const GeneratedPair pair = stream.Next();
    const Sample pictures{.previous = pair.previous_rgb, .current = pair.current_rgb};
    ASSERT_TRUE((*learner)->AwaitRoom().ok());
    while ((*learner)->updates()[0] < i) std::this_thread::yield();
    const auto made = (*learner)->Predict(pictures);
    ASSERT_TRUE(made.ok()) << made.status();
    asked.push_back(made->loss);
    ASSERT_TRUE((*learner)->Admit(pictures).ok());
  }
  ASSERT_TRUE((*learner)->Drain().ok());
  ExpectNear(asked, losses, 0.001F);
}

TEST_P(FlowOnAGpu, InBfloat16TheLearnerOfOpticalFlowLearnsNearlyAsInFloat32) {
  const std::vector<float> in_float = LossesOf("flow", "cuda:0", GetParam());
  const std::vector<float> lower = LossesOf("flow", "cuda:0", GetParam(), Precision::kBFloat16);
  // By more than the order of sums makes.
  EXPECT_GT(std::abs(lower[0] - in_float[0]), 1e-5F * in_float[0]);
  ExpectNear(lower, in_float, 0.1F);
}

}  // namespace
}  // namespace millrace::pipeline
