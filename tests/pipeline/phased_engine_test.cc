#include "pipeline/phased_engine.h"

#include <memory>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/engine_runs.h"

namespace millrace::pipeline {
namespace {

constexpr int kSamples = 60;
constexpr int kSwitchAt = 25;

// Stages for each phase, of which the later ones go on with the weights of the ones before.
class PhasedStages {
 public:
  explicit PhasedStages(const Phases& phases) { Begin(phases.front()); }

  void Begin(const Phase& phase) {
    auto next = std::make_unique<FakeStages>(phase.plan, 0.02);
    if (stages_) next->set_weights(stages_->weights());
    first_sample_ = phase.first_sample;
    stages_ = std::move(next);
    ++phases_begun_;
  }
  FakeStages& stages() { return *stages_; }
  [[nodiscard]] std::int64_t first_sample() const { return first_sample_; }
  [[nodiscard]] int phases_begun() const { return phases_begun_; }

 private:
  std::unique_ptr<FakeStages> stages_;
  std::int64_t first_sample_ = 0;
  int phases_begun_ = 0;
};

Phases HybridPhases(int stages) {
  ScheduleRequest request = RequestOf(ShapeWithSkips(stages));
  request.switch_at = kSwitchAt;
  return *MakePhases("hybrid", request);
}

TEST(PhasedEngineTest, HybridLosesNoSampleAndNumbersGoOn) {
  const Phases phases = HybridPhases(3);
  PhasedStages phased(phases);
  std::vector<std::int64_t> learned;  // By stage 1, in its order.
  auto engine =
      PhasedEngine::Start({.phases = phases,
                           .run =
                               [&](const Step& step) {
                                 Jitter();
                                 phased.stages().Run(step);
                                 if (step.kind == OperationKind::kUpdate && step.stage == 1) {
                                   learned.push_back(phased.first_sample() + step.first);
                                 }
                               },
                           .on_switch = [&](const Phase& phase) { phased.Begin(phase); }});
  ASSERT_TRUE(engine.ok()) << engine.status();
  for (int sample = 0; sample < kSamples; ++sample) {
    const auto number = (*engine)->Admit([&](std::int64_t n) { phased.stages().Admit(n); });
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_EQ(*number, sample);
    EXPECT_EQ(phased.phases_begun(), sample < kSwitchAt ? 1 : 2);
  }
  ASSERT_TRUE((*engine)->Drain().ok());
  ASSERT_EQ(learned.size(), static_cast<std::size_t>(kSamples));
  for (int sample = 0; sample < kSamples; ++sample) EXPECT_EQ(learned[sample], sample);
}

TEST(PhasedEngineTest, EachPhaseEqualsItsSerialRun) {
  const Phases phases = HybridPhases(3);
  const int later = kSamples - kSwitchAt;
  const Plan plans[] = {WithoutBounds(phases[0].plan, kSwitchAt),
                        WithoutBounds(phases[1].plan, later)};
  FakeStages first(plans[0], 0.02);
  Serially(plans[0], kSwitchAt, first);
  FakeStages second(plans[1], 0.02);
  second.set_weights(first.weights());
  Serially(plans[1], later, second);

  PhasedStages phased(phases);
  auto engine =
      PhasedEngine::Start({.phases = phases,
                           .run = [&](const Step& step) { phased.stages().Run(step); },
                           .on_switch = [&](const Phase& phase) { phased.Begin(phase); }});
  ASSERT_TRUE(engine.ok()) << engine.status();
  for (int sample = 0; sample < kSamples; ++sample) {
    ASSERT_TRUE((*engine)->Admit([&](std::int64_t n) { phased.stages().Admit(n); }).ok());
  }
  ASSERT_TRUE((*engine)->Drain().ok());
  EXPECT_EQ(phased.stages().weights(), second.weights());
}

TEST(PhasedEngineTest, SwitchesToAnyPlanBetweenTwoSamplesAndLosesNone) {
  Phases phases = HybridPhases(3);
  const Plan next = *MakePlan("one_f_one_b_star", RequestOf(ShapeWithSkips(3)));
  PhasedStages phased(phases);
  std::vector<std::int64_t> learned;  // By stage 1, in its order.
  auto engine = PhasedEngine::Start({.phases = phases, .run = [&](const Step& step) {
                                       Jitter();
                                       phased.stages().Run(step);
                                       if (step.kind == OperationKind::kUpdate && step.stage == 1) {
                                         learned.push_back(phased.first_sample() + step.first);
                                       }
                                     }});
  ASSERT_TRUE(engine.ok()) << engine.status();
  for (int sample = 0; sample < kSamples; ++sample) {
    if (sample == 10 || sample == 40) {
      const absl::Status switched = (*engine)->Switch(next, {}, [&](const Phase& phase) {
        EXPECT_EQ(phase.first_sample, sample);
        EXPECT_EQ(learned.size(), static_cast<std::size_t>(sample)) << "all is drained";
        phased.Begin(phase);
      });
      ASSERT_TRUE(switched.ok()) << switched;
    }
    const auto number = (*engine)->Admit([&](std::int64_t n) { phased.stages().Admit(n); });
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_EQ(*number, sample);
  }
  ASSERT_TRUE((*engine)->Drain().ok());
  EXPECT_EQ(phased.phases_begun(), 3) << "what was to come at the hybrid's switch is given up";
  ASSERT_EQ(learned.size(), static_cast<std::size_t>(kSamples));
  for (int sample = 0; sample < kSamples; ++sample) EXPECT_EQ(learned[sample], sample);
}

TEST(PhasedEngineTest, APlanThatCannotRunChangesNothing) {
  auto engine = PhasedEngine::Start({.phases = HybridPhases(2), .run = [](const Step&) {}});
  ASSERT_TRUE(engine.ok());
  Plan broken = HybridPhases(2)[1].plan;
  broken.devices.pop_back();
  EXPECT_FALSE((*engine)->Switch(broken, {}, [](const Phase&) { FAIL(); }).ok());
  EXPECT_EQ(*(*engine)->Admit([](std::int64_t) {}), 0);
  EXPECT_TRUE((*engine)->Drain().ok());
}

TEST(PhasedEngineTest, ChecksEveryPlanBeforeItStarts) {
  Phases phases = HybridPhases(2);
  phases[1].plan.devices.pop_back();
  EXPECT_FALSE(PhasedEngine::Start({.phases = phases, .run = [](const Step&) {}}).ok());
}

TEST(PhasedEngineTest, FailureOfAPhaseEndsTheStreamAtTheSwitch) {
  auto engine = PhasedEngine::Start({.phases = HybridPhases(2), .run = [](const Step& step) {
                                       if (step.first == 3) throw std::runtime_error("broken");
                                     }});
  ASSERT_TRUE(engine.ok());
  absl::Status status;
  for (int sample = 0; sample < kSamples && status.ok(); ++sample) {
    status = (*engine)->Admit([](std::int64_t) {}).status();
  }
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("broken"));
}

}  // namespace
}  // namespace millrace::pipeline
