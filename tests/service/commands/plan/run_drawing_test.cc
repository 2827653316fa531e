// A run drawn beside its plan.
#include "service/commands/plan/run_drawing.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/pipeline/support/engine_runs.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSamples = 60;
constexpr int kStages = 3;

// A simulated run whose operations take longer or shorter than the mean.
RecordedRun RunOf(const std::string& schedule) {
  pipeline::ScheduleRequest request =
      pipeline::RequestOf(pipeline::PipelineShape{.stages = kStages, .skips = {}});
  request.switch_at = kSamples / 2;
  RecordedRun run{.schedule = schedule,
                  .phases = *pipeline::MakePhases(schedule, request),
                  .samples = kSamples,
                  .events = {}};
  std::mt19937 random(1);
  const auto vary = [&](const pipeline::Step&, double cost) {
    return cost * std::uniform_real_distribution(0.5, 1.5)(random);
  };
  double begin = 0;
  for (std::size_t i = 0; i < run.phases.size(); ++i) {
    const auto& [plan, first] = run.phases[i];
    const std::int64_t end = i + 1 < run.phases.size() ? run.phases[i + 1].first_sample : kSamples;
    const auto observe = [&, first = first](std::size_t device, pipeline::Step step,
                                            pipeline::Span span) {
      step.first += first;
      step.last += first;
      run.events.push_back({device, step, {span.start + begin, span.end + begin}});
    };
    EXPECT_TRUE(pipeline::Simulate(plan, {.costs = request.costs,
                                          .arrivals = std::vector<double>(end - first),
                                          .vary = vary,
                                          .observe = observe})
                    .ok());
    begin = pipeline::LastEnd(run.events);
  }
  return run;
}

class RunDrawing : public ::testing::TestWithParam<std::string> {};

TEST_P(RunDrawing, TraceHasTheSameOperationsOnPaperAndRun) {
  const RecordedRun run = RunOf(GetParam());
  const auto trace = RunTrace(run);
  ASSERT_TRUE(trace.ok()) << trace.status();
  std::vector<std::string> processes;
  std::map<int, std::vector<std::string>> operations;  // By process.
  std::map<int, double> free;                          // By track.
  for (const auto& event : nlohmann::json::parse(*trace)) {
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (event["ph"] != "X") continue;
    operations[event["pid"]].push_back(event["name"]);
    double& until = free[event["tid"]];
    EXPECT_LE(until, event["ts"].get<double>() + 1e-2) << event;  // Printed to the nanosecond.
    until = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_THAT(processes, ElementsAre("plan", "run"));
  EXPECT_EQ(operations[2].size(), run.events.size());
  std::sort(operations[1].begin(), operations[1].end());
  std::sort(operations[2].begin(), operations[2].end());
  EXPECT_EQ(operations[1], operations[2]);
}

TEST_P(RunDrawing, PictureHasARowForEach) {
  const auto svg = RunSvg(RunOf(GetParam()));
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_THAT(*svg, AllOf(HasSubstr(", plan</text>"), HasSubstr(", run</text>")));
  EXPECT_THAT(*svg, HasSubstr("<title>U1("));
}

// Two plans in turn, the first of them with shifts; backwards of whole mini-batches.
INSTANTIATE_TEST_SUITE_P(ShiftsAndMiniBatches, RunDrawing,
                         ::testing::Values("hybrid", "interleaved", "timeprest"),
                         [](const auto& test) { return test.param; });

TEST(RunDrawingTest, SaysHowManyOperationsAreLeftOut) {
  RecordedRun run = RunOf("partime");
  EXPECT_THAT(*RunTrace(run), Not(HasSubstr("left out")));
  run.left_out = 17;
  EXPECT_THAT(*RunTrace(run), HasSubstr("17 are left out"));
}

TEST(RunDrawingTest, ARunTooShortToLearnIsDrawn) {
  RecordedRun run = RunOf("partime");
  run.samples = 1;
  std::erase_if(run.events, [](const auto& e) {
    return e.step.first > 0 || e.step.kind != pipeline::OperationKind::kForward;
  });
  EXPECT_TRUE(RunSvg(run).ok());
}

}  // namespace
}  // namespace millrace::service
