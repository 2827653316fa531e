// A recorded run has every operation in the plan's order, one at a time on its device, after the
// operations whose results it reads.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/engine/phased_engine.h"
#include "pipeline/engine/run_history.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/timeline/planned_run.h"
#include "pipeline/timeline/timeline_event.h"
#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

constexpr int kSamples = 41;  // Not a whole number of patterns.

struct Recorded {
  Phases phases;
  std::vector<TimelineEvent> events = {};
  std::int64_t left_out = 0;
};

Recorded Record(const std::string& schedule, std::int64_t max = 10'000) {
  ScheduleRequest request = RequestOf(ShapeWithSkips(3));
  request.switch_at = 20;
  Recorded recorded{.phases = *MakePhases(schedule, request)};
  std::size_t devices = 0;
  for (const Phase& phase : recorded.phases) devices = std::max(devices, phase.plan.devices.size());
  RunHistory recorder({.operations = max, .keeps_first = true});
  auto engine = PhasedEngine::Start({.phases = recorded.phases,
                                     .run =
                                         [](const Step&) {
                                           Jitter();
                                           return true;
                                         },
                                     .observers = {recorder.Observer(devices)}});
  EXPECT_TRUE(engine.ok()) << engine.status();
  for (int i = 0; i < kSamples; ++i) {
    EXPECT_TRUE((*engine)->Admit([](std::int64_t) {}).ok());
  }
  EXPECT_TRUE((*engine)->Drain().ok());
  recorded.events = EventsOf(recorder.Since(nanoseconds(0)));
  recorded.left_out = recorder.left_out();
  return recorded;
}

// By device.
std::map<std::size_t, std::vector<TimelineEvent>> ByDevice(
    const std::vector<TimelineEvent>& events) {
  std::map<std::size_t, std::vector<TimelineEvent>> by_device;
  for (const TimelineEvent& event : events) by_device[event.device].push_back(event);
  return by_device;
}

// The steps of one device in the plan's order, as far as they exist.
void AddSteps(const Phase& phase, std::int64_t samples, const std::vector<Operation>& order,
              std::vector<Step>& steps) {
  for (std::int64_t period = 0; period <= 3 * kSamples; ++period) {
    for (const Operation& operation : order) {
      Step step = StepOf(phase.plan, operation, period);
      if (!Exists(phase.plan, step, samples)) continue;
      step.first += phase.first_sample;
      step.last += phase.first_sample;
      steps.push_back(step);
    }
  }
}

std::map<std::size_t, std::vector<Step>> StepsOf(const Phases& phases) {
  std::map<std::size_t, std::vector<Step>> steps;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::int64_t end = i + 1 < phases.size() ? phases[i + 1].first_sample : kSamples;
    const auto& devices = phases[i].plan.devices;
    for (std::size_t device = 0; device < devices.size(); ++device) {
      AddSteps(phases[i], end - phases[i].first_sample, devices[device], steps[device]);
    }
  }
  return steps;
}

// Where the operation of an event stands in the order of its device.
std::size_t PlaceOf(const Plan& plan, const TimelineEvent& event) {
  const auto& order = plan.devices[event.device];
  const auto found = std::find_if(order.begin(), order.end(), [&](const Operation& operation) {
    return operation.kind == event.step.kind && operation.stage == event.step.stage &&
           operation.first == event.step.first % plan.samples_per_pattern;
  });
  EXPECT_NE(found, order.end());
  return found - order.begin();
}

// No operation begins before what it needs of other stages has ended. Of whole patterns: in a last
// one that is not full, places in the order of a stage are passed without an operation.
void ExpectDependenciesMet(const Plan& plan, const std::vector<TimelineEvent>& events) {
  const Dependencies dependencies(plan);
  // By kind and stage: when each of its samples was done, in the order of the stage.
  std::map<std::pair<OperationKind, int>, std::vector<double>> ends;
  for (const TimelineEvent& event : events) {
    auto& of_stage = ends[{event.step.kind, event.step.stage}];
    of_stage.insert(of_stage.end(), event.step.samples(), event.span.end);
  }
  const std::int64_t whole = kSamples - kSamples % plan.samples_per_pattern;
  for (const TimelineEvent& event : events) {
    if (event.step.last >= whole) continue;
    const std::int64_t pattern = event.step.first / plan.samples_per_pattern;
    for (const Dependency& dependency : dependencies.of(event.device, PlaceOf(plan, event))) {
      const std::int64_t samples = dependency.samples + pattern * plan.samples_per_pattern;
      const auto& of_stage = ends[{dependency.kind, dependency.stage}];
      // Beyond the stream's end there is nothing to wait for; the camera is not recorded.
      if (samples <= 0 || samples > static_cast<std::int64_t>(of_stage.size())) continue;
      EXPECT_LE(of_stage[samples - 1], event.span.start) << ToString(event.step);
    }
  }
}

class RecordedRun : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedRun, AgreesWithItsPlan) {
  const Recorded recorded = Record(GetParam());
  EXPECT_EQ(recorded.left_out, 0);
  const auto by_device = ByDevice(recorded.events);
  const auto expected = StepsOf(recorded.phases);
  ASSERT_EQ(by_device.size(), expected.size());
  for (const auto& [device, events] : by_device) {
    std::vector<Step> steps;
    double free = 0;
    for (const TimelineEvent& event : events) {
      EXPECT_LE(free, event.span.start) << ToString(event.step) << " began too early";
      EXPECT_LE(event.span.start, event.span.end);
      free = event.span.end;
      steps.push_back(event.step);
    }
    EXPECT_EQ(steps, expected.at(device)) << "device " << device;
  }
  if (recorded.phases.size() == 1) ExpectDependenciesMet(recorded.phases[0].plan, recorded.events);
}

// What is laid beside the run holds the same operations in the same order.
TEST_P(RecordedRun, HasTheSameOperationsOnPaper) {
  for (const std::int64_t max : {10'000, 50}) {
    const Recorded recorded = Record(GetParam(), max);
    const auto planned = PlannedEvents(recorded.phases, recorded.events, kSamples);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const auto on_paper = ByDevice(*planned);
    for (const auto& [device, events] : ByDevice(recorded.events)) {
      ASSERT_THAT(on_paper.at(device), SizeIs(events.size()));
      for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(on_paper.at(device)[i].step, events[i].step);
      }
    }
  }
}

// Two plans in turn, the first of them with shifts; backwards of whole mini-batches.
INSTANTIATE_TEST_SUITE_P(ShiftsAndMiniBatches, RecordedRun,
                         ::testing::Values("hybrid", "timeprest"),
                         [](const auto& test) { return test.param; });

TEST(RecordedRunTest, KeepsTheFirstOperationsAndCountsTheOthers) {
  const Recorded all = Record("partime");
  const Recorded few = Record("partime", 5);
  EXPECT_THAT(few.events, SizeIs(3 * 5));
  EXPECT_EQ(few.left_out, static_cast<std::int64_t>(all.events.size()) - 3 * 5);
  EXPECT_EQ(few.events[0].step, (Step{kForward, 1, 0, 0}));
}

TEST(RecordedRunTest, CountsTimeFromTheFirstOperation) {
  FakeClock clock(std::chrono::seconds(7));
  RunHistory recorder;
  const Plan plan = PlanOf("sequential", 1);
  auto engine = *Engine::Start({.plan = plan,
                                .run =
                                    [&](const Step& step) {
                                      const bool forward = step.kind == kForward;
                                      clock.Advance(std::chrono::milliseconds(forward ? 2 : 3));
                                      return true;
                                    },
                                .observers = {recorder.Observer(plan.devices.size())},
                                .first_sample = 100,
                                .clock = &clock});
  ASSERT_TRUE(engine->Admit([](std::int64_t) {}).ok());
  ASSERT_TRUE(engine->Drain().ok());
  const auto events = EventsOf(recorder.Since(nanoseconds(0)));
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[1].step, (Step{kBackward, 1, 100, 100}));
  EXPECT_DOUBLE_EQ(events[0].span.start, 0);
  EXPECT_DOUBLE_EQ(events[1].span.start, 2);
  EXPECT_DOUBLE_EQ(events[1].span.end, 5);
}

TEST(PlannedRunTest, CostsAreMediansOfOneSampleEach) {
  const Plan plan = *MakePlan("gpipe", RequestOf({.stages = 1, .skips = {}}));
  std::vector<TimelineEvent> events;
  for (const double forward : {1.0, 1.0, 9.0}) {
    events.push_back({0, {kForward, 1, 0, 0}, {0, forward}});
  }
  events.push_back({0, {kBackward, 1, 0, 0}, {10, 13}});  // With a forward of 1 in it.
  events.push_back({0, {kUpdate, 1, 0, 3}, {20, 20.5}});
  EXPECT_THAT(CostsIn(events, plan),
              ElementsAre(AllOf(Field(&StageCost::forward, 1), Field(&StageCost::backward, 2),
                                Field(&StageCost::update, 0.5))));
}

TEST(PlannedRunTest, ABackwardCostsBothItsParts) {
  const Plan plan = PlanOf("one_f_one_b_one_w", 1);
  const std::vector<TimelineEvent> events = {{0, {kForward, 1, 0, 0}, {0, 1}},
                                             {0, {kBackward, 1, 0, 0}, {1, 3}},
                                             {0, {kWeightGradient, 1, 0, 0}, {3, 6}}};
  EXPECT_THAT(CostsIn(events, plan), ElementsAre(AllOf(Field(&StageCost::backward, 5),
                                                       Field(&StageCost::weight_gradient, 3))));
}

// On paper what a run took is what it takes.
TEST(PlannedRunTest, ASimulatedRunIsItsOwnPlan) {
  const ScheduleRequest request = RequestOf(ShapeWithSkips(3));
  for (const std::string& schedule : ScheduleNames()) {
    const Phases phases = {{*MakePlan(schedule, request)}};
    const auto events = *SimulatedEvents(phases[0].plan, request.costs, 0, kSamples);
    const auto planned = *PlannedEvents(phases, events, kSamples);
    ASSERT_THAT(planned, SizeIs(events.size()));
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(planned[i].step, events[i].step);
      EXPECT_THAT(planned[i].span.end, DoubleNear(events[i].span.end, 1e-9)) << schedule;
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
