// The results do not depend on the order in which devices work on their queues. And every
// dependency that the devices get is necessary.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan_checker.h"
#include "tests/pipeline/support/fake_devices.h"
#include "tests/pipeline/support/schedule_cases.h"

namespace millrace::pipeline {
namespace {

constexpr double kLearningRate = 0.02;

/// A SlotRing that throws what that would stop the program for.
template <typename T>
class ThrowingRing {
 public:
  explicit ThrowingRing(int slots) : places_(slots) {}

  void Write(std::int64_t sample, T value) {
    Place& place = places_[sample % places_.size()];
    if (place.sample >= sample) throw std::runtime_error("an older sample comes after a newer one");
    place = {sample, std::move(value)};
  }
  T& Read(std::int64_t sample) {
    Place& place = places_[sample % places_.size()];
    if (place.sample != sample) throw std::runtime_error("it reads what is not there");
    return place.value;
  }

 private:
  struct Place {
    std::int64_t sample = -1;
    T value{};
  };
  std::vector<Place> places_;
};
using WatchedStages = FakeStagesIn<ThrowingRing>;

struct Outcome {
  absl::Status status;
  std::vector<double> outputs;
  std::vector<double> weights;
};

Outcome OnFakeDevices(const Plan& plan, int samples, const FakeOrder& order) {
  WatchedStages stages(plan, kLearningRate);
  Outcome outcome;
  const auto run = [&](const Step& step) {
    if (step.stage < 0) throw std::runtime_error("nothing can go on");
    stages.Run(step);
    return true;
  };
  const auto arrive = [&](std::int64_t n) { stages.Admit(n); };
  auto engine =
      Engine::Start({.plan = plan, .run = run, .make_devices = FakeDevicesIn(order, arrive)});
  outcome.status = engine.status();
  for (int sample = 0; outcome.status.ok() && sample < samples; ++sample) {
    outcome.status = (*engine)->Admit([](std::int64_t) {}).status();
  }
  if (outcome.status.ok()) outcome.status = (*engine)->Drain();
  outcome.outputs = stages.outputs();
  outcome.weights = stages.weights();
  return outcome;
}

Outcome Expected(const Plan& plan, int samples) {
  const Plan roomy = WithoutBounds(plan, samples);
  FakeStages oracle(roomy, kLearningRate);
  Serially(roomy, samples, oracle);
  return {.status = {}, .outputs = oracle.outputs(), .weights = oracle.weights()};
}

class FakeDevicesTest : public ::testing::TestWithParam<ScheduleCase> {
 protected:
  [[nodiscard]] static std::vector<Plan> Plans() {
    const absl::StatusOr<Phases> phases = MakePhases(GetParam().schedule, GetParam().request);
    EXPECT_TRUE(phases.ok()) << phases.status();
    std::vector<Plan> plans;
    for (const Phase& phase : *phases) plans.push_back(phase.plan);
    return plans;
  }
};

TEST_P(FakeDevicesTest, AnyOrderThatTheRulesAllowGivesTheSameBits) {
  for (const Plan& plan : Plans()) {
    for (const int samples : {1, 7, 40, 101}) {
      const Outcome expected = Expected(plan, samples);
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Outcome outcome = OnFakeDevices(plan, samples, {.seed = seed});
        ASSERT_TRUE(outcome.status.ok()) << outcome.status << " " << samples << " " << seed;
        ASSERT_EQ(outcome.outputs, expected.outputs) << samples << " samples, seed " << seed;
        ASSERT_EQ(outcome.weights, expected.weights) << samples << " samples, seed " << seed;
      }
    }
  }
}

// All needs of a plan: of its operations, and of admissions.
std::vector<Edge> EdgesOf(const Plan& plan, const Dependencies& dependencies) {
  std::vector<Edge> edges;
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (std::size_t place = 0; place < plan.devices[device].size(); ++place) {
      for (const Dependency& dependency : dependencies.of(device, place)) {
        edges.push_back({device, place, dependency});
      }
    }
  }
  for (int sample = 0; sample < plan.samples_per_pattern; ++sample) {
    for (const Dependency& dependency : dependencies.of_admission(sample)) {
      edges.push_back({Edge::kHost, static_cast<std::size_t>(sample), dependency});
    }
  }
  return edges;
}

std::string Describe(const Plan& plan, const Edge& edge) {
  const std::string what = "stage " + std::to_string(edge.dependency.stage) + " has done " +
                           std::string(Name(edge.dependency.kind)) + " " +
                           std::to_string(edge.dependency.samples) + " for ";
  if (edge.device == Edge::kHost) return what + "admitting " + std::to_string(edge.place);
  return what + "\n" + PatternText(plan, &plan.devices[edge.device][edge.place]);
}

class EdgesTest : public FakeDevicesTest {
 protected:
  static constexpr int kSamples = 40;

  /// Whether it goes as it should if devices do not wait for `edge`, and what makes it comes late.
  static bool GoesWell(const Plan& plan, const Outcome& expected, const FakeOrder& order) {
    const Outcome outcome = OnFakeDevices(plan, kSamples, order);
    return outcome.status.ok() && outcome.outputs == expected.outputs &&
           outcome.weights == expected.weights;
  }
};

// Devices that miss one need read what is not there, or overwrite what is still read, or never get
// on, or learn something else.
TEST_P(EdgesTest, WithoutAnyOneOfThemItGoesWrong) {
  for (const Plan& plan : Plans()) {
    const Outcome expected = Expected(plan, kSamples);
    for (const Edge& edge : EdgesOf(plan, Dependencies(plan).Reduced(plan))) {
      bool wrong = false;
      for (std::uint64_t seed = 0; !wrong && seed < 50; ++seed) {
        for (const bool late : {true, false}) {
          wrong = wrong || !GoesWell(plan, expected, {.seed = seed, .ignored = edge, .late = late});
        }
      }
      EXPECT_TRUE(wrong) << "it need not wait until " << Describe(plan, edge);
    }
  }
}

// What devices are not told of is there, however late it may be.
TEST_P(EdgesTest, WhatIsLeftOutIsImplied) {
  for (const Plan& plan : Plans()) {
    const Outcome expected = Expected(plan, kSamples);
    const Dependencies all(plan);
    const std::vector<Edge> told = EdgesOf(plan, all.Reduced(plan));
    for (const Edge& edge : EdgesOf(plan, all)) {
      if (std::ranges::find(told, edge) != told.end()) continue;
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        EXPECT_TRUE(GoesWell(plan, expected, {.seed = seed, .ignored = edge, .late = true}))
            << Describe(plan, edge);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, EdgesTest, ::testing::ValuesIn(AllScheduleCases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(AllSchedules, FakeDevicesTest, ::testing::ValuesIn(AllScheduleCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace millrace::pipeline
