// The engine equals a serial run of the same orders bit for bit, for every schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan_checker.h"
#include "tests/pipeline/engine_runs.h"

namespace millrace::pipeline {
namespace {

struct Case {
  std::string name;
  std::string schedule;
  ScheduleRequest request;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& schedule, int stages, const std::string& variant = "",
                       const std::function<void(ScheduleRequest&)>& set = {}) {
    ScheduleRequest request = RequestOf(ShapeWithSkips(stages));
    if (set) set(request);
    cases.push_back({schedule + "_" + std::to_string(stages) + variant, schedule, request});
  };
  for (const std::string& schedule : ScheduleNames()) {
    for (int stages = 1; stages <= 4; ++stages) add(schedule, stages);
  }
  add("one_f_one_b_star", 4, "_T6", [](ScheduleRequest& r) { r.period = 6; });
  add("one_f_one_b_star", 4, "_T12", [](ScheduleRequest& r) { r.period = 12; });
  for (int stages = 2; stages <= 4; ++stages) {
    add("stale", stages, "_separate", [](ScheduleRequest& r) { r.separate_backwards = true; });
    add("gpipe", stages, "_except_last", [](ScheduleRequest& r) {
      r.recompute = Recompute::kExceptLast;
      r.samples = 5;
    });
    add("gpipe", stages, "_never", [](ScheduleRequest& r) {
      r.recompute = Recompute::kNever;
      r.samples = 3;
    });
  }
  for (int samples = 1; samples <= 6; ++samples) {
    const auto set = [samples](ScheduleRequest& r) { r.samples = samples; };
    add("timeprest", 4, "_N" + std::to_string(samples), set);
    add("k_periodic", 4, "_k" + std::to_string(samples), set);
    if (samples >= 4) add("pipedream_2bw", 4, "_m" + std::to_string(samples), set);
  }
  add("interleaved", 3, "_121", [](ScheduleRequest& r) { r.device_of = {0, 1, 0}; });
  add("interleaved", 4, "_one_device", [](ScheduleRequest& r) { r.device_of = {0, 0, 0, 0}; });
  return cases;
}

class EngineEqualsOracle : public ::testing::TestWithParam<Case> {};

TEST_P(EngineEqualsOracle, BitForBitInAnyTiming) {
  constexpr double kLearningRate = 0.02;
  constexpr int kSamples = 203;  // Not a whole number of patterns.
  const Case& c = GetParam();
  const absl::StatusOr<Phases> phases = MakePhases(c.schedule, c.request);
  ASSERT_TRUE(phases.ok()) << phases.status();
  for (const Phase& phase : *phases) {
    const Plan& plan = phase.plan;
    ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan).status();
    const Plan roomy = WithoutBounds(plan, kSamples);
    FakeStages oracle(roomy, kLearningRate);
    Serially(roomy, kSamples, oracle);

    FakeStages stages(plan, kLearningRate);
    const absl::Status ran = InTheEngine(plan, kSamples, stages);
    ASSERT_TRUE(ran.ok()) << ran;

    EXPECT_EQ(stages.outputs(), oracle.outputs());
    EXPECT_EQ(stages.weights(), oracle.weights());
    const std::vector<double> untouched = FakeStages(plan, 0).weights();
    for (int stage = 0; stage < plan.stage_count(); ++stage) {
      EXPECT_NE(stages.weights()[stage], untouched[stage])
          << "stage " << stage + 1 << " never learned";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, EngineEqualsOracle, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace millrace::pipeline
