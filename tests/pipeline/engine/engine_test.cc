#include "pipeline/engine/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/engine/step_error.h"
#include "pipeline/plan/simulator.h"
#include "pipeline/schedules/schedules.h"
#include "tests/pipeline/support/engine_runs.h"
#include "tests/pipeline/support/fake_stages.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Ne;

constexpr double kLearningRate = 0.05;

// PARTIME by its own definition: a loop over periods and stages with double buffers, in which every
// stage reads only what its neighbours made in the period before. Shares nothing with plans.
struct DoubleBufferedLoop {
  explicit DoubleBufferedLoop(int depth)
      : weight(depth), input(depth), output(depth), gradient(depth + 1) {
    for (int h = 0; h < depth; ++h) weight[h] = 0.5 + 0.1 * (h + 1);
  }

  // One period. Sample numbers below 0 are not valid yet.
  void Step(std::int64_t period, std::int64_t samples, std::vector<double>& predictions) {
    const int depth = static_cast<int>(weight.size());
    const std::vector<double> before = output;
    const std::vector<double> gradient_before = gradient;
    for (int h = 0; h < depth; ++h) {
      const std::int64_t newest = period - h;
      if (newest < 0 || newest >= samples) continue;
      input[h] = h == 0 ? FakeStages::Sample(newest) : before[h - 1];
      output[h] = weight[h] * input[h];
      if (h == depth - 1) predictions[newest] = output[h];
      const std::int64_t learned = newest - 2 * (depth - 1 - h);
      if (learned < 0) continue;
      const double arriving =
          h == depth - 1 ? output[h] - FakeStages::Target(newest) : gradient_before[h + 1];
      gradient[h] = arriving * weight[h];
      weight[h] -= kLearningRate * arriving * input[h];
    }
  }

  std::vector<double> weight, input, output, gradient;
};

TEST(EngineTest, PartimeIsTheDoubleBufferedLoopOfItsDefinition) {
  for (int depth = 1; depth <= 4; ++depth) {
    constexpr int kSamples = 60;
    const Plan plan = *MakePlan("partime", RequestOf({.stages = depth, .skips = {}}));
    FakeStages stages(plan, kLearningRate);
    ASSERT_TRUE(InTheEngine(plan, kSamples, stages).ok());

    DoubleBufferedLoop loop(depth);
    std::vector<double> predictions(FakeStages::kMaxSamples, 0.0);
    for (int period = 0; period < kSamples + depth; ++period) {
      loop.Step(period, kSamples, predictions);
    }
    EXPECT_EQ(stages.outputs(), predictions) << depth << " stages";
  }
}

TEST(EngineTest, OneStageIsPlainOnlineLearning) {
  for (const std::string& schedule : ScheduleNames()) {
    if (schedule == "gpipe" || schedule == "timeprest") continue;  // They learn from several.
    const Plan plan = PlanOf(schedule, 1);
    FakeStages stages(plan, kLearningRate);
    ASSERT_TRUE(InTheEngine(plan, 50, stages).ok());

    double weight = 0.6;
    for (int sample = 0; sample < 50; ++sample) {
      const double x = FakeStages::Sample(sample);
      ASSERT_EQ(stages.outputs()[sample], weight * x) << schedule;
      weight -= kLearningRate * ((weight * x - FakeStages::Target(sample)) * x);
    }
    EXPECT_EQ(stages.weights()[0], weight) << schedule;
  }
}

TEST(EngineTest, WithoutALearningRateTheOutputsAreTheUntouchedNetworks) {
  for (const std::string& schedule : ScheduleNames()) {
    const Plan plan = *MakePlan(schedule, RequestOf({.stages = 3, .skips = {}}));
    FakeStages stages(plan, 0);
    ASSERT_TRUE(InTheEngine(plan, 30, stages).ok());
    const std::vector<double> weights = FakeStages(plan, 0).weights();
    for (int sample = 0; sample < 30; ++sample) {
      const double first = weights[0] * FakeStages::Sample(sample);
      EXPECT_EQ(stages.outputs()[sample], weights[2] * (weights[1] * first)) << schedule;
    }
  }
}

// The time of every operation on a clock that only the operations turn: it starts when its device
// and all that it needs are done, and takes what its stage costs.
class VirtualTime {
 public:
  VirtualTime(const Plan& plan, std::vector<StageCost> costs, std::vector<double> arrivals)
      : plan_(plan),
        costs_(std::move(costs)),
        arrivals_(std::move(arrivals)),
        timeline_(plan.stage_count()),
        free_at_(plan.stage_count() + 1) {}

  void Run(const Step& step) {
    MutexLock lock(mu_);
    double start = free_at_[step.stage];
    if (step.stage == 0) start = std::max(start, arrivals_[step.first]);
    for (const Dependency& dependency : DependenciesOf(step)) {
      const std::int64_t samples = dependency.samples + step.first;
      if (samples <= 0) continue;
      start = std::max(start, timeline_.of(dependency.kind, dependency.stage).at(samples - 1).end);
    }
    free_at_[step.stage] = start + CostOf(step);
    timeline_.Set(step, {start, free_at_[step.stage]});
  }

  [[nodiscard]] std::vector<double> Delays() const {
    MutexLock lock(mu_);
    std::vector<double> delays;
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      delays.push_back(timeline_.predictions()[i].end - arrivals_[i]);
    }
    return delays;
  }

 private:
  // For plans of one sample a pattern.
  [[nodiscard]] std::span<const Dependency> DependenciesOf(const Step& step) const {
    if (step.stage == 0) return dependencies_.of_admission(0);
    const auto& order = plan_.devices[step.stage - 1];
    const auto place = std::find_if(order.begin(), order.end(), [&](const Operation& operation) {
      return operation.kind == step.kind;
    });
    return dependencies_.of(step.stage - 1, place - order.begin());
  }

  [[nodiscard]] double CostOf(const Step& step) const {
    if (step.stage == 0) return 0;
    const StageCost& cost = costs_[step.stage - 1];
    return step.kind == OperationKind::kForward    ? cost.forward
           : step.kind == OperationKind::kBackward ? cost.backward
                                                   : cost.update;
  }

  const Plan plan_;
  const Dependencies dependencies_{plan_};
  const std::vector<StageCost> costs_;
  const std::vector<double> arrivals_;
  mutable Mutex mu_;
  Timeline timeline_ ABSL_GUARDED_BY(mu_);
  std::vector<double> free_at_ ABSL_GUARDED_BY(mu_);
};

TEST(EngineTest, DelayIsTheSumOfTheForwardsWhenFramesArriveInTime) {
  const std::vector<StageCost> costs = {{1, 2, 0.25}, {1.5, 1, 0.25}, {0.5, 2, 0.25}};
  for (const char* schedule : {"partime", "one_f_one_b_star"}) {
    const Plan plan = *MakePlan(schedule, {.shape = {.stages = 3, .skips = {}}, .costs = costs});
    std::vector<double> arrivals(40);
    for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i] = 3.5 * static_cast<double>(i);
    VirtualTime time(plan, costs, arrivals);
    auto engine = Engine::Start({.plan = plan,
                                 .run =
                                     [&](const Step& step) {
                                       time.Run(step);
                                       return true;
                                     },
                                 .on_worker_start = {}});
    ASSERT_TRUE(engine.ok());
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      ASSERT_TRUE((*engine)
                      ->Admit([&](std::int64_t n) {
                        time.Run({OperationKind::kForward, 0, n, n});
                      })
                      .ok());
    }
    ASSERT_TRUE((*engine)->Drain().ok());
    EXPECT_THAT(time.Delays(), Each(1 + 1.5 + 0.5)) << schedule;
    const auto simulated = Simulate(plan, {.costs = costs, .arrivals = arrivals});
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      EXPECT_EQ(time.Delays()[i], simulated->predictions()[i].end - arrivals[i]) << schedule;
    }
  }
}

TEST(EngineTest, AnOperationThatThrowsStopsEverythingAndIsNamed) {
  auto engine = Engine::Start({.plan = PlanOf("partime", 3),
                               .run =
                                   [](const Step& step) {
                                     if (step == Step{OperationKind::kForward, 2, 5, 5}) {
                                       throw std::runtime_error("out of memory");
                                     }
                                     return true;
                                   },
                               .on_worker_start = {}});
  ASSERT_TRUE(engine.ok());
  absl::Status refused;
  while (refused.ok()) refused = (*engine)->Admit([](std::int64_t) {}).status();
  EXPECT_THAT(refused.message(), HasSubstr("F2(5)"));
  EXPECT_THAT(refused.message(), HasSubstr("out of memory"));
  EXPECT_EQ((*engine)->Drain(), refused);
}

TEST(EngineTest, ASampleThatCannotBeWrittenIsTheLastAndThoseBeforeItAreFinished) {
  std::atomic<int> updates = 0;
  auto engine = Engine::Start({.plan = PlanOf("one_f_one_b_star", 3),
                               .run =
                                   [&](const Step& step) {
                                     updates += step.kind == OperationKind::kUpdate;
                                     return true;
                                   },
                               .on_worker_start = {}});
  ASSERT_TRUE((*engine)->Admit([](std::int64_t) {}).ok());
  const absl::Status refused =
      (*engine)
          ->Admit([](std::int64_t) { throw StepError(absl::ResourceExhaustedError("it is full")); })
          .status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("it is full"));
  EXPECT_EQ((*engine)->Admit([](std::int64_t) {}).status(), refused);
  EXPECT_EQ((*engine)->Drain(), refused);
  EXPECT_EQ(updates, 3);
}

TEST(EngineTest, APlanThatCannotRunIsRefused) {
  Plan plan = PlanOf("one_f_one_b_star", 3);
  plan.stages[0].slots = 1;
  const auto engine =
      Engine::Start({.plan = plan, .run = [](const Step&) { return true; }, .on_worker_start = {}});
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EngineTest, DestroyedWithSamplesInFlightItEnds) {
  std::atomic<int> ran = 0;
  auto engine = Engine::Start({.plan = PlanOf("partime", 3),
                               .run = [&](const Step&) { return ++ran > 0; },
                               .on_worker_start = {}});
  ASSERT_TRUE((*engine)->Admit([](std::int64_t) {}).ok());
  engine->reset();    // Hangs until the test's timeout if a worker never stops waiting.
  EXPECT_LE(ran, 5);  // F1 F2 F3 B3 U3: the others lack their inputs.
}

// Each look at it is a second later.
class CountingClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds Now() const override { return std::chrono::seconds(++looks_); }
  [[nodiscard]] int looks() const { return looks_; }

 private:
  mutable std::atomic<int> looks_ = 0;
};

TEST(EngineTest, EachObserverGetsEveryOperationOnceItHasRun) {
  CountingClock clock;
  std::vector<PastOperation> observed;
  std::vector<bool> worked;
  auto engine =
      Engine::Start({.plan = PlanOf("sequential", 1),
                     .run = [](const Step& step) { return step.kind != OperationKind::kUpdate; },
                     .observers = {[&](const PastOperation& one, bool) { observed.push_back(one); },
                                   [&](const PastOperation&, bool did) { worked.push_back(did); }},
                     .first_sample = 7,
                     .clock = &clock});
  ASSERT_TRUE((*engine)->Admit([](std::int64_t) {}).ok());
  ASSERT_TRUE((*engine)->Drain().ok());
  ASSERT_EQ(observed.size(), 3U);
  EXPECT_EQ(observed[0].step, (Step{OperationKind::kForward, 1, 7, 7}));
  EXPECT_EQ(observed[2].step, (Step{OperationKind::kUpdate, 1, 7, 7}));
  EXPECT_EQ(observed[2].start, std::chrono::seconds(5));
  EXPECT_EQ(observed[2].end, std::chrono::seconds(6));
  EXPECT_EQ(worked, (std::vector<bool>{true, true, false}));
}

TEST(EngineTest, WithoutObserversNothingIsTimed) {
  CountingClock clock;
  auto engine = Engine::Start(
      {.plan = PlanOf("sequential", 1), .run = [](const Step&) { return true; }, .clock = &clock});
  ASSERT_TRUE((*engine)->Admit([](std::int64_t) {}).ok());
  ASSERT_TRUE((*engine)->Drain().ok());
  EXPECT_EQ(clock.looks(), 0);
}

TEST(EngineTest, AnEmptyStreamDrains) {
  auto engine = Engine::Start({.plan = PlanOf("partime", 4),
                               .run = [](const Step&) { return true; },
                               .on_worker_start = {}});
  EXPECT_TRUE((*engine)->Drain().ok());
  EXPECT_TRUE((*engine)->Drain().ok());
}

TEST(EngineTest, ADeviceWithoutOperationsEndsToo) {
  Plan plan = PlanOf("partime", 2);
  plan.devices.insert(plan.devices.begin() + 1, std::vector<Operation>());
  auto engine = Engine::Start({.plan = plan, .run = [](const Step&) { return true; }});
  ASSERT_TRUE(engine.ok()) << engine.status();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE((*engine)->AwaitRoom().ok());
    ASSERT_TRUE((*engine)->Admit([](std::int64_t) {}).ok());
  }
  ASSERT_TRUE((*engine)->Drain().ok());
  EXPECT_EQ((*engine)->done(OperationKind::kForward, 2), 5);
}

TEST(EngineTest, DrainingRunsWhatHasItsInputsAndNothingElse) {
  const Plan plan = PlanOf("partime", 3);
  auto engine =
      Engine::Start({.plan = plan, .run = [](const Step&) { return true; }, .on_worker_start = {}});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*engine)->Admit([](std::int64_t) {}).ok());
  ASSERT_TRUE((*engine)->Drain().ok());
  for (int stage = 1; stage <= 3; ++stage) {
    EXPECT_EQ((*engine)->done(OperationKind::kForward, stage), 10);
    EXPECT_EQ((*engine)->done(OperationKind::kUpdate, stage), 10 - 2 * (3 - stage));
  }
}

}  // namespace
}  // namespace millrace::pipeline
