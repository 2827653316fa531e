// The traffic between hosts. The oracle of its times runs the part of each host, with transfers
// that both sides wait for.
#include "pipeline/planner/host_traffic.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan_cursor.h"
#include "pipeline/plan/plan_part.h"
#include "pipeline/plan/steady_state.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;
using Kind = HostTransfer::Kind;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr int kSamples = 1000;

// All hosts at once, in time, for plans of one sample a pattern. The wires hold nothing: a transfer
// starts once both hosts have begun it, and ends for both at once. Inputs travel one at a time.
class HostsInTime {
 public:
  HostsInTime(const Plan& plan, const std::vector<int>& hosts, std::vector<StageCost> costs,
              double input_ms, double interval)
      : costs_(std::move(costs)), input_ms_(input_ms), interval_(interval) {
    for (int host = 0; host <= hosts.front(); ++host) {
      const Plan part = *PartOf(plan, hosts, host);
      hosts_.push_back(std::make_unique<Host>(
          Host{.part = part, .dependencies = Dependencies(part), .progress = Progress(part)}));
      for (const PlanCursor& at : CursorsOf(hosts_.back()->part)) {
        hosts_.back()->devices.push_back({.at = at});
      }
      for (auto& by_stage : hosts_.back()->ends) by_stage.resize(plan.stage_count() + 1);
    }
  }

  // When each sample arrived, and when it was predicted.
  struct Times {
    std::vector<double> admitted;
    std::vector<double> predicted;
  };

  Times Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& host : hosts_) {
        moved = Admit(*host) || moved;
        for (Device& device : host->devices) moved = GoOn(*host, device) || moved;
      }
    }
    Host& leader = *hosts_.front();
    return {.admitted = leader.ends[0].front(), .predicted = leader.ends[0].back()};
  }

 private:
  struct Device {
    PlanCursor at;
    double free_at = 0;
    bool begun = false;
  };
  struct Host {
    const Plan part;
    const Dependencies dependencies;
    Progress progress;
    std::vector<Device> devices = {};
    double last_input = 0;  // When it arrived.
    // The end of each operation: by kind and stage, in the stage's order. Stage 0 is the camera.
    std::array<std::vector<std::vector<double>>, kOperationKinds> ends = {};
  };
  // Both sides of a transfer: how many have begun it, and when the later one did.
  struct Sides {
    int begun = 0;
    double ready = 0;
  };

  static std::optional<double> MetAt(const Host& host, std::span<const Dependency> dependencies,
                                     std::int64_t pattern) {
    if (!host.progress.Meets(dependencies, pattern)) return std::nullopt;
    double at = 0;
    for (const Dependency& dependency : dependencies) {
      const std::int64_t position = dependency.samples + pattern;
      const auto& ends = host.ends[static_cast<int>(dependency.kind)][dependency.stage];
      if (position > 0 && !ends.empty()) {
        at = std::max(at, ends[std::min<std::int64_t>(position, std::ssize(ends)) - 1]);
      }
    }
    return at;
  }

  bool Admit(Host& host) {
    const std::int64_t sample = host.progress.done(kForward, 0);
    const Host& leader = *hosts_.front();
    const bool leads = &host == &leader;
    if (sample == kSamples || (!leads && leader.progress.done(kForward, 0) <= sample)) return false;
    const auto room = MetAt(host, host.dependencies.of_admission(0), sample);
    if (!room) return false;
    const double arrived = leads ? static_cast<double>(sample) * interval_
                                 : leader.ends[0][0][static_cast<std::size_t>(sample)];
    const bool has_input = !leads && host.part.IsOwn(1);
    // It travels before there is room.
    const double there = has_input ? std::max(arrived, host.last_input) + input_ms_ : arrived;
    host.last_input = there;
    Finish(host, {kForward, 0, sample, sample}, std::max(*room, there));
    return true;
  }

  bool GoOn(Host& host, Device& device) {
    PlanCursor& at = device.at;
    bool moved = false;
    for (;; at.Next()) {
      if (at.filling()) continue;
      const Step step = at.step();
      if (step.first >= kSamples) return moved;
      const auto met = MetAt(host, host.dependencies.of(at.device(), at.place()), at.pattern());
      if (!met) return moved;
      const auto end = EndOf(host, device, step, std::max(*met, device.free_at));
      if (!end) return moved;
      device.begun = false;
      device.free_at = *end;
      Finish(host, step, *end);
      moved = true;
    }
  }

  // Null while the other side of a transfer has not begun it.
  std::optional<double> EndOf(const Host& host, Device& device, const Step& step, double ready) {
    if (host.part.IsOwn(step.stage)) {
      return ready + CostOf(host.part, device.at.operation(), costs_[step.stage - 1]);
    }
    double end = ready;
    bool all = true;
    for (const Channel& channel : host.part.channels) {
      const bool touches = channel.from == step.stage || channel.to == step.stage;
      const bool carries =
          step.kind == kForward || (step.kind == kBackward && host.part.CarriesGradients(channel));
      if (channel.from == 0 || !touches || !carries || !host.part.IsOwn(channel)) continue;
      Sides& sides = sides_[{step.kind, channel.from, channel.to, step.first}];
      if (!device.begun) {
        ++sides.begun;
        sides.ready = std::max(sides.ready, ready);
      }
      all = all && sides.begun == 2;
      end = std::max(end, sides.ready + costs_[channel.from - 1].copy);
    }
    device.begun = true;
    return all ? std::optional(end) : std::nullopt;
  }

  static void Finish(Host& host, const Step& step, double end) {
    host.progress.Complete(step);
    host.ends[static_cast<int>(step.kind)][step.stage].push_back(end);
  }

  const std::vector<StageCost> costs_;
  const double input_ms_;
  const double interval_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::map<std::tuple<OperationKind, int, int, std::int64_t>, Sides> sides_;
};

// Between two samples in the middle of a run. The times repeat after a few samples, up to eight.
double PeriodOf(const std::vector<double>& predicted) {
  return (predicted[940] - predicted[100]) / 840;
}

struct Case {
  std::string schedule;
  std::vector<int> hosts;
  double copy = 0;
  std::vector<StageSkip> skips = {};
};

class PlansOverHosts : public ::testing::TestWithParam<Case> {};

TEST_P(PlansOverHosts, HaveThePeriodAndTheDelayOfHostsThatWaitForTransfers) {
  const auto& [schedule, hosts, copy, skips] = GetParam();
  const auto stages = static_cast<int>(hosts.size());
  std::vector<StageCost> costs;
  for (int stage = 0; stage < stages; ++stage) {
    costs.push_back(
        {.forward = 2.0 + stage % 2, .backward = 5, .update = 0.5, .weight_gradient = 2});
  }
  const Plan plan = *MakePlan(
      schedule,
      {.shape = {.stages = stages, .skips = skips}, .costs = costs, .period = kEachStageAGroup});
  for (int i = 0; i + 1 < stages; ++i) costs[i].copy = hosts[i] != hosts[i + 1] ? copy : 0;
  const Plan over = PlanOverHosts(plan, hosts);
  const double period = SteadyPeriod(over, costs);
  const auto full = HostsInTime(plan, hosts, costs, 1.5, /*interval=*/0).Run();
  EXPECT_NEAR(period, PeriodOf(full.predicted), 1e-6 * period);

  const double interval = 1.25 * period;
  const auto paced = HostsInTime(plan, hosts, costs, 1.5, interval).Run();
  EXPECT_NEAR(Steady(over, costs, interval).delay + 1.5, paced.predicted[940] - paced.admitted[940],
              1e-6 * period);
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const char* schedule : {"one_f_one_b_star", "one_f_one_b_one_w", "partime", "stale",
                               "pipedream", "recompute", "sequential"}) {
    for (const double copy : {0.5, 3.0, 8.0, 20.0}) {
      cases.push_back({schedule, {1, 0}, copy});
      cases.push_back({schedule, {1, 1, 0, 0}, copy});
      cases.push_back({schedule, {3, 2, 1, 0}, copy});
      cases.push_back({schedule, {2, 1, 0}, copy, {{1, 3}}});
      cases.push_back({schedule, {3, 2, 1, 0}, copy, {{1, 4}, {1, 3}}});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, PlansOverHosts, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) {
                           std::string name = test.param.schedule + "_";
                           for (const int host : test.param.hosts) name += std::to_string(host);
                           if (!test.param.skips.empty()) name += "_skips";
                           return name + "_copy_" +
                                  std::to_string(static_cast<int>(10 * test.param.copy));
                         });

// Four layers; a skip leads from the first one to the last.
NetworkProfile Network() {
  NetworkProfile network;
  for (const double main : {1000, 2000, 3000, 10}) {
    network.layers.push_back({.name = "conv",
                              .cost = {.forward = 1, .backward = 2},
                              .output_bytes = main + (main > 10 ? 500 : 0),
                              .weight_bytes = 100});
  }
  network.skips = {{.from = 0, .to = 3, .bytes = 500}};
  network.input_bytes = 60;
  return network;
}

auto IsTransfer(Kind kind, int from, int to, double bytes) {
  return ::testing::AllOf(::testing::Field(&HostTransfer::kind, kind),
                          ::testing::Field(&HostTransfer::from, from),
                          ::testing::Field(&HostTransfer::to, to),
                          ::testing::Field(&HostTransfer::bytes, ::testing::DoubleEq(bytes)));
}

std::vector<HostTransfer> TransfersFor(const std::string& schedule, const Cuts& cuts,
                                       const HostPlacement& placement) {
  const auto stages = static_cast<int>(cuts.size()) + 1;
  const Plan plan = *MakePlan(schedule, {.shape = {.stages = stages},
                                         .costs = std::vector<StageCost>(stages, kAssumedCost)});
  return TransfersOf(Network(), cuts, plan, placement);
}

TEST(HostTrafficTest, SkipsThatCrossAWholeStageAreInThePlan) {
  const auto skips = SkipsOf(Network(), {1, 3});
  ASSERT_EQ(skips.size(), 1U);
  EXPECT_EQ(skips[0].from, 1);
  EXPECT_EQ(skips[0].to, 3);
  EXPECT_TRUE(SkipsOf(Network(), {2}).empty());
}

TEST(HostTrafficTest, ASkipGoesStraightToTheHostThatReadsIt) {
  const std::vector<HostTransfer> transfers = TransfersFor(
      "partime", {1, 3}, {.host_of_stage = {2, 1, 0}, .copy_every = 10, .kept_of_weights = 2});
  EXPECT_THAT(
      transfers,
      UnorderedElementsAre(
          IsTransfer(Kind::kInput, 0, 2, 60), IsTransfer(Kind::kActivations, 2, 1, 1000),
          IsTransfer(Kind::kActivations, 2, 0, 500), IsTransfer(Kind::kActivations, 1, 0, 3000),
          IsTransfer(Kind::kGradients, 1, 2, 1000), IsTransfer(Kind::kGradients, 0, 2, 500),
          IsTransfer(Kind::kGradients, 0, 1, 3000), IsTransfer(Kind::kWeights, 2, 0, 30),
          IsTransfer(Kind::kWeights, 1, 0, 60)));
  const std::vector<HostLoad> loads = LoadsOf(transfers, 3);
  EXPECT_DOUBLE_EQ(loads[0].received_bytes, 500 + 3000 + 30 + 60);
  EXPECT_DOUBLE_EQ(loads[0].sent_bytes, 60 + 500 + 3000);
  EXPECT_DOUBLE_EQ(loads[1].received_bytes, 1000 + 3000);
  EXPECT_DOUBLE_EQ(loads[2].received_bytes, 60 + 1000 + 500);
}

TEST(HostTrafficTest, NothingCrossesBetweenStagesOfOneHostAndNoGradientBehindALocalLoss) {
  EXPECT_THAT(TransfersFor("partime", {1, 3}, {.host_of_stage = {0, 0, 0}}), ElementsAre());
  EXPECT_THAT(TransfersFor("local", {1, 3}, {.host_of_stage = {1, 1, 0}, .copy_every = 1}),
              UnorderedElementsAre(IsTransfer(Kind::kInput, 0, 1, 60),
                                   IsTransfer(Kind::kActivations, 1, 0, 3500),
                                   IsTransfer(Kind::kWeights, 1, 0, 600)));
}

TEST(HostTrafficTest, AMessageTakesItsBytesAndADelay) {
  const HostLink link = {.bytes_per_s = 100e3, .delay_ms = 2};
  EXPECT_DOUBLE_EQ(MessageMs(1000, link), 10 + 2);
  const HostPlacement placement = {.host_of_stage = {2, 1, 0}};
  const std::vector<HostTransfer> transfers = TransfersFor("partime", {1, 3}, placement);
  EXPECT_DOUBLE_EQ(InputMs(transfers, link), 0.6 + 2);
  const std::vector<StageCost> costs =
      CostsOverHosts(std::vector<StageCost>(3, kAssumedCost), placement, transfers, link);
  EXPECT_DOUBLE_EQ(costs[0].copy, 15 + 2);  // Host 2 sends the skip, too.
  EXPECT_DOUBLE_EQ(costs[1].copy, 30 + 2);
  EXPECT_DOUBLE_EQ(costs[2].copy, 0);
  EXPECT_DOUBLE_EQ(InputMs(TransfersFor("partime", {1}, {.host_of_stage = {0, 0}}), link), 0);
}

TEST(HostTrafficTest, ADeviceOfTwoHostsIsTwoDevices) {
  const Plan plan = *MakePlan(
      "delayed", {.shape = {.stages = 3}, .costs = std::vector<StageCost>(3, kAssumedCost)});
  ASSERT_EQ(plan.devices.size(), 1U);
  const Plan over = PlanOverHosts(plan, std::vector<int>{1, 1, 0});
  ASSERT_EQ(over.devices.size(), 2U);
  for (const Operation& operation : over.devices[0]) EXPECT_LT(operation.stage, 3);
  for (const Operation& operation : over.devices[1]) EXPECT_EQ(operation.stage, 3);
}

}  // namespace
}  // namespace millrace::pipeline
