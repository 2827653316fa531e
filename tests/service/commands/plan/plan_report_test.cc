#include "service/commands/plan/plan_report.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "service/commands/plan/plan_command.h"
#include "service/commands/plan/plan_drawing.h"
#include "service/commands/plan/plan_json.h"
#include "service/commands/plan/plan_table.h"

namespace millrace::service {
namespace {

using ::nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

pipeline::NetworkProfile Network(const std::vector<double>& sizes) {
  pipeline::NetworkProfile network;
  for (double size : sizes) {
    network.layers.push_back({.name = "conv" + std::to_string(network.layers.size()),
                              .cost = {.forward = size, .backward = 2 * size}});
  }
  return network;
}

PlanReport ReportOf(const pipeline::NetworkProfile& network, const PlanRequest& request) {
  auto reports = MakePlanReports(network, request);
  EXPECT_TRUE(reports.ok()) << reports.status();
  return reports.ok() ? reports->front() : PlanReport{};
}

std::vector<int> Staleness(const PlanReport& report) {
  std::vector<int> staleness;
  for (const PlannedStage& stage : report.stages) staleness.push_back(stage.figures.staleness);
  return staleness;
}

std::string ErrorOf(const pipeline::NetworkProfile& network, const PlanRequest& request) {
  return std::string(MakePlanReports(network, request).status().message());
}

TEST(PlanReportTest, OneFOneBStarWithoutAPeriodMakesEveryStageAGroup) {
  // Stages 3 and 4 together would fit into the period, 30.
  const PlanReport report = ReportOf(Network({10, 10, 1, 1}), {.layers_of_stages = {1, 1, 1, 1}});
  EXPECT_THAT(Staleness(report), ElementsAre(3, 2, 1, 0));
  EXPECT_DOUBLE_EQ(report.period_ms, 30);
}

TEST(PlanReportTest, ALongerPeriodMakesLargerGroups) {
  const auto network = Network({1, 1, 1, 1});
  EXPECT_THAT(Staleness(ReportOf(network, {.devices = 4, .period_ms = 6})),
              ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(Staleness(ReportOf(network, {.devices = 4, .period_ms = 12})),
              ElementsAre(0, 0, 0, 0));
}

TEST(PlanReportTest, ThePeriodIsThatOfTheFramesOrTheLeastPossible) {
  const auto network = Network({1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(
      ReportOf(network, {.schedule = "partime", .devices = 4, .period_ms = 40}).period_ms, 40);
  EXPECT_DOUBLE_EQ(
      ReportOf(network, {.schedule = "partime", .devices = 4, .period_ms = 1}).period_ms, 3);
}

TEST(PlanReportTest, NamesTheStageAndTheLayerThatLimit) {
  const PlanReport report = ReportOf(Network({1, 1, 4, 1}), {.layers_of_stages = {2, 2}});
  EXPECT_EQ(report.bottleneck.kind, Bottleneck::Kind::kStage);
  EXPECT_EQ(report.bottleneck.number, 2);
  EXPECT_EQ(report.bottleneck.layer, 2);
  EXPECT_DOUBLE_EQ(report.bottleneck.load_ms, 15);
  EXPECT_DOUBLE_EQ(report.bottleneck.layer_ms, 12);
  EXPECT_DOUBLE_EQ(report.speed_up, 21.0 / 15);
  EXPECT_DOUBLE_EQ(report.speed_up_cap, 21.0 / 12);
}

TEST(PlanReportTest, NoSpeedUpIsAboveItsCap) {
  auto network = Network({1, 2, 1, 2});
  for (auto& layer : network.layers) layer.cost.update = 5;  // pipedream_2bw makes fewer of them.
  const auto schedules = CompareSchedules(network, {.devices = 4});
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  for (const ComparedSchedule& schedule : *schedules) {
    ASSERT_TRUE(schedule.reports.ok()) << schedule.name << ": " << schedule.reports.status();
    for (const PlanReport& phase : *schedule.reports) {
      EXPECT_LE(phase.speed_up, phase.speed_up_cap * (1 + 1e-9)) << schedule.name;
    }
  }
}

TEST(PlanReportTest, ASlowLinkIsTheBottleneckAndSetsThePeriod) {
  auto network = Network({1, 1});
  network.layers[0].cost.copy = 5;
  const PlanReport report = ReportOf(network, {.schedule = "partime", .devices = 2});
  EXPECT_EQ(report.bottleneck.kind, Bottleneck::Kind::kCut);
  EXPECT_EQ(report.bottleneck.number, 1);
  EXPECT_DOUBLE_EQ(report.bottleneck.load_ms, 5);
  // Three sets of activations for a way there and back of 1 + 5 + 3 + 5 + 2.
  EXPECT_DOUBLE_EQ(report.period_ms, 16.0 / 3);
}

TEST(PlanReportTest, InterleavedFindsRunsThatAreNotContiguous) {
  pipeline::NetworkProfile network = Network({1, 2, 1});
  const PlanReport report = ReportOf(network, {.schedule = "interleaved", .devices = 2});
  ASSERT_EQ(report.stages.size(), 3u);
  EXPECT_EQ(report.stages[0].device, report.stages[2].device);
  EXPECT_DOUBLE_EQ(report.bottleneck.load_ms, 6);
  EXPECT_EQ(report.bound_ms, 6);
}

TEST(PlanReportTest, InterleavedFallsBackToContiguousRunsThatAreFaster) {
  std::vector<double> sizes(100);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = 1 + static_cast<double>(i * i % 17);
  const PlanReport report = ReportOf(Network(sizes), {.schedule = "interleaved", .devices = 4});
  const PlanReport other = ReportOf(Network(sizes), {.schedule = "partime", .devices = 4});
  EXPECT_LE(report.period_ms, other.period_ms * 1.05);
}

TEST(PlanReportTest, MemoryIsVersionsTimesWeightsAndSlotsTimesActivations) {
  auto network = Network({1, 1});
  for (auto& layer : network.layers) {
    layer.weight_bytes = 100;
    layer.activation_bytes = 10;
    layer.output_bytes = 1;
  }
  EXPECT_THAT(ReportOf(network, {.schedule = "pipedream"}).memory_bytes,
              ElementsAre(2 * 100 + 2 * 10, 100 + 10));
  // Stage 1's inputs come from the camera. Stage 2 keeps its four samples' inputs.
  EXPECT_THAT(ReportOf(network, {.schedule = "gpipe"}).memory_bytes,
              ElementsAre(100 + 10, 100 + 10 + 4));
}

TEST(PlanReportTest, TheCutRespectsWhatThePlanHolds) {
  auto network = Network({1, 1, 1, 1});
  for (auto& layer : network.layers) layer.activation_bytes = 10;
  network.memory_bytes = 30;
  // Stage 1 of stale holds three sets: with two layers it would need 60.
  const PlanReport report = ReportOf(network, {.schedule = "stale", .devices = 2});
  EXPECT_EQ(report.stages[0].last_layer, 0);
  EXPECT_THAT(report.memory_bytes, ElementsAre(30, 30));
  network.memory_bytes = 25;
  EXPECT_THAT(ErrorOf(network, {.schedule = "stale", .devices = 2}),
              HasSubstr("the fullest needs 30 bytes at least"));
}

TEST(PlanReportTest, SeparateBackwardsTakeTwoKPlusOneDevices) {
  const auto network = Network({1, 1, 1});
  const PlanReport report =
      ReportOf(network, {.schedule = "stale", .devices = 5, .separate_backwards = true});
  EXPECT_EQ(report.stages.size(), 3u);
  EXPECT_EQ(report.plan.devices.size(), 5u);
  EXPECT_DOUBLE_EQ(report.period_ms, 3);  // The last stage's.
  EXPECT_THAT(ErrorOf(network, {.schedule = "stale", .devices = 4, .separate_backwards = true}),
              HasSubstr("--devices 3 or 5"));
}

TEST(PlanReportTest, ErrorsSayWhatToAskFor) {
  const auto network = Network({1, 1, 1});
  EXPECT_THAT(ErrorOf(network, {.schedule = "gpipes"}), HasSubstr("use one of: sequential"));
  EXPECT_THAT(ErrorOf(network, {.devices = 4}), HasSubstr("ask for 1 to 3"));
  EXPECT_THAT(ErrorOf(network, {.layers_of_stages = {2, 2}}),
              AllOf(HasSubstr("add up to the 3 layers"), HasSubstr("add up to 4")));
  EXPECT_THAT(ErrorOf(network, {.layers_of_stages = {3, 0}}), HasSubstr("at least one layer"));
  EXPECT_THAT(ErrorOf(network, {.devices = 3, .layers_of_stages = {2, 1}}),
              HasSubstr("ask for --devices 2"));
  EXPECT_THAT(ErrorOf(network, {.placement = {0, 1}}), HasSubstr("--schedule interleaved"));
  EXPECT_THAT(
      ErrorOf(network,
              {.schedule = "interleaved", .layers_of_stages = {1, 1, 1}, .placement = {0, 2, 0}}),
      HasSubstr("use each of the 3 devices"));
}

TEST(PlanTextTest, SaysAllThatAUserWantsToKnow) {
  auto network = Network({1, 1, 4, 1});
  network.layers[0].activation_bytes = 3e6;
  const std::string text =
      TextOfPlan(network, ReportOf(network, {.schedule = "partime", .layers_of_stages = {2, 2}}));
  EXPECT_THAT(text, AllOf(HasSubstr("schedule partime, 2 stages on 2 devices"),
                          HasSubstr("stage  layers  device  load ms  slots  mismatch  staleness"),
                          HasSubstr("15 ms between samples, 66.7 each second")));
  EXPECT_THAT(text, HasSubstr("stage 2 (layers 2-3): 15 ms a sample; layer 2 (conv2) takes "
                              "12 ms\n"));
  EXPECT_THAT(text, HasSubstr("1.40 over one device; at most 1.75"));
  EXPECT_THAT(text, HasSubstr("3 MB"));
}

TEST(PlanTextTest, ComparesAllSchedulesAndSaysWhyOneIsMissing) {
  const std::string text =
      CompareText(*CompareSchedules(Network({1, 1, 1, 1}), {.devices = 4, .micro_batches = 2}));
  for (const std::string& name : pipeline::ScheduleNames()) EXPECT_THAT(text, HasSubstr(name));
  EXPECT_THAT(text, HasSubstr("pipedream_2bw: schedule pipedream_2bw: samples is 2"));
}

TEST(PlanJsonTest, HasTheOperationsInTheirOrderAndThePhases) {
  const auto network = Network({1, 1});
  const json plan = json::parse(
      PlanJson(network, *MakePlanReports(network, {.schedule = "hybrid", .switch_at = 50})));
  EXPECT_EQ(plan["schedule"], "hybrid");
  EXPECT_EQ(plan["stages"][1]["layers"], json({1, 1}));
  EXPECT_EQ(plan["operations"].size(), 6u);
  const json& backward = plan["operations"][1];
  EXPECT_EQ(backward["kind"], "backward");
  EXPECT_EQ(backward["stage"], 1);
  EXPECT_EQ(backward["order"], 1);
  EXPECT_EQ(backward["shift"], 2);
  EXPECT_EQ(backward["span"], 1);
  EXPECT_EQ(plan["then"]["schedule"], "sequential");
  EXPECT_EQ(plan["then"]["first_sample"], 50);
}

TEST(PlanDrawingTest, BothPhasesAreDrawnAndTraced) {
  const auto network = Network({1, 1});
  const auto phases = *MakePlanReports(network, {.schedule = "hybrid", .switch_at = 4});
  EXPECT_THAT(*PlanSvg(phases), HasSubstr("<title>F1(5)</title>"));
  const json trace = json::parse(*PlanTrace(phases));
  EXPECT_TRUE(trace.is_array());
  EXPECT_EQ(trace.back()["ph"], "X");
}

TEST(AutoPlanTest, TakesTheLeastStalenessThatHoldsTheRate) {
  const auto network = Network({5, 5, 5, 5});
  const PlanReport slow =
      ReportOf(network, {.schedule = "auto", .devices = 4, .period_ms = 100, .spread = 0.05});
  EXPECT_THAT(Staleness(slow), Each(0));
  const PlanReport fast =
      ReportOf(network, {.schedule = "auto", .devices = 4, .period_ms = 20, .spread = 0.05});
  EXPECT_GT(MaxStaleness(fast), 0);
  EXPECT_EQ(fast.schedule, "auto: one_f_one_b_star");
  ASSERT_TRUE(fast.found.has_value());
  EXPECT_TRUE(fast.found->holds);
  EXPECT_EQ(fast.found->update_every, 1);
  EXPECT_LE(fast.found->dropped_share, 0.005);
  EXPECT_EQ(fast.found->spread, 0.05);
}

TEST(AutoPlanTest, GivesUpLearningFirstAndSaysSo) {
  const auto network = Network({10, 10});
  const PlanReport some = ReportOf(network, {.schedule = "auto", .devices = 2, .period_ms = 22});
  EXPECT_GT(some.found->update_every, 1);
  EXPECT_LE(some.period_ms, 22 + 1e-9) << "a mean over samples with and without learning";
  EXPECT_THAT(
      TextOfPlan(network, some),
      AllOf(HasSubstr("schedule auto: "), HasSubstr("learning    from one sample in "),
            HasSubstr("frames      one every 22 ms holds"), HasSubstr("limit       layer 0")));
  const PlanReport none = ReportOf(network, {.schedule = "auto", .devices = 2, .period_ms = 3});
  EXPECT_FALSE(none.found->holds);
  EXPECT_THAT(TextOfPlan(network, none),
              AllOf(HasSubstr("is too fast"), HasSubstr("learning    none")));
  const json plan = json::parse(PlanJson(network, {none}));
  EXPECT_THAT(plan["schedule"].get<std::string>(), StartsWith("auto: "));
  EXPECT_EQ(plan["update_every"], 0);
  EXPECT_EQ(plan["holds"], false);
  EXPECT_GT(plan["dropped_share"], 0.5);
  EXPECT_THAT(plan["limit"].get<std::string>(), HasSubstr("layer 0 alone takes 30 of the 60 ms"));
}

TEST(AutoPlanTest, PlansForTheSpreadThatWasMeasured) {
  auto network = Network({5, 5});
  EXPECT_EQ(ReportOf(network, {.schedule = "auto", .period_ms = 100}).found->spread, 0.1);
  network.spread = 0.3;
  EXPECT_EQ(ReportOf(network, {.schedule = "auto", .period_ms = 100}).found->spread, 0.3);
}

TEST(AutoPlanTest, SaysWhatItNeeds) {
  auto network = Network({1, 1, 1});
  EXPECT_THAT(ErrorOf(network, {.schedule = "auto"}), HasSubstr("--period-ms"));
  EXPECT_THAT(ErrorOf(network, {.schedule = "auto", .layers_of_stages = {1, 2}, .period_ms = 9}),
              HasSubstr("leave out --stages"));
  EXPECT_THAT(ErrorOf(network, {.schedule = "auto", .devices = 4, .period_ms = 9}),
              HasSubstr("1 to 3"));
  for (auto& layer : network.layers) layer.weight_bytes = 10;
  network.memory_bytes = 5;
  EXPECT_THAT(ErrorOf(network, {.schedule = "auto", .period_ms = 9}),
              HasSubstr("layer 0 (conv0) needs 10 bytes even alone"));
}

// Two stages of two layers balance best, but the first has to keep three samples.
TEST(AutoPlanTest, KeepsToTheMemoryOfTheDevices) {
  auto network = Network({5, 5, 5, 5});
  for (auto& layer : network.layers) layer.activation_bytes = 10;
  const PlanRequest request = {.schedule = "auto", .devices = 2, .period_ms = 11};
  const PlanReport free = ReportOf(network, request);
  EXPECT_EQ(free.stages[0].last_layer, 1);
  const double max = std::ranges::max(free.memory_bytes);
  network.memory_bytes = max;
  EXPECT_EQ(ReportOf(network, request).memory_bytes, free.memory_bytes);
  network.memory_bytes = max - 1;
  const PlanReport kept = ReportOf(network, request);
  EXPECT_LT(std::ranges::max(kept.memory_bytes), max);
  EXPECT_TRUE(kept.found->holds);
}

// A model of four layers, configured as two stages under partime.
absl::StatusOr<MeasuredModel> Measured(const std::string& config, const std::string& stream) {
  EXPECT_EQ(config, "model.yaml");
  EXPECT_EQ(stream, "gate");
  return MeasuredModel{
      .costs = Network({1, 1, 1, 1}), .schedule = "partime", .stages = 2, .cuts = {1}};
}

struct Ran {
  int code;
  std::string out, errors;
};

Ran RunWith(const PlanArguments& arguments, const MeasureModel& measure = Measured) {
  std::ostringstream out, errors;
  const int code = RunPlan(arguments, measure, out, errors);
  return {code, out.str(), errors.str()};
}

TEST(CmdPlanTest, MeasuresAConfiguredModelWhereItCan) {
  const Ran without = RunWith({.config = "model.yaml", .stream = "gate"}, nullptr);
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.errors, HasSubstr("use --costs"));
  const Ran as_configured = RunWith({.config = "model.yaml", .stream = "gate"});
  EXPECT_EQ(as_configured.code, 0);
  EXPECT_THAT(as_configured.out, AllOf(HasSubstr("partime, 2 stages"), HasSubstr("(layers 1-3)")));
}

TEST(CmdPlanTest, WhatIsAskedForComesBeforeWhatIsConfigured) {
  PlanArguments arguments{.config = "model.yaml", .stream = "gate", .schedule = "stale"};
  EXPECT_THAT(RunWith(arguments).out,
              AllOf(HasSubstr("stale, 2 stages"), HasSubstr("(layers 1-3)")));
  arguments.request.devices = 4;
  EXPECT_THAT(RunWith(arguments).out, HasSubstr("stale, 4 stages"));
  arguments.schedule = "auto";
  arguments.request.period_ms = 5;
  EXPECT_THAT(RunWith(arguments).out, HasSubstr("schedule auto: one_f_one_b_star"));
}

TEST(CmdPlanTest, TakesStagesOnHostsFromTheCommandLineOrTheConfiguration) {
  const auto measured = [](const std::string&,
                           const std::string&) -> absl::StatusOr<MeasuredModel> {
    return MeasuredModel{.costs = Network({1, 1, 1, 1}),
                         .schedule = "partime",
                         .stages = 2,
                         .cuts = {1},
                         .hosts = {.host_of_stage = {1, 0}}};
  };
  PlanArguments arguments{.config = "model.yaml"};
  EXPECT_THAT(RunWith(arguments, measured).out, HasSubstr("2 stages on 2 devices of 2 hosts"));
  arguments.request.hosts.host_of_stage = {2, 1, 1, 0};
  EXPECT_THAT(RunWith(arguments, measured).out, HasSubstr("4 stages on 4 devices of 3 hosts"));
  arguments.schedule = "auto";
  EXPECT_THAT(RunWith(arguments, measured).errors,
              HasSubstr("schedule auto cannot be planned here"));
}

TEST(CmdPlanTest, ALinkNeedsARateAndHosts) {
  PlanArguments arguments{.config = "model.yaml", .stream = "gate", .link = "1gbit"};
  EXPECT_THAT(RunWith(arguments).errors, HasSubstr("give --stages-on"));
  arguments.link = "quick";
  EXPECT_THAT(RunWith(arguments).errors, HasSubstr("--link: 'quick' is no rate"));
  arguments.link = "";
  arguments.link_delay_ms = 1;
  EXPECT_THAT(RunWith(arguments).errors, HasSubstr("--link-delay-ms needs --link"));
}

TEST(CmdPlanTest, SavesCostsThatItReadsBack) {
  const std::string path = ::testing::TempDir() + "/plan_report_test_costs.json";
  const Ran measured = RunWith({.config = "model.yaml", .stream = "gate", .save_costs = path});
  EXPECT_EQ(measured.code, 0) << measured.errors;
  PlanArguments again{.costs = path, .schedule = "partime"};
  again.request.layers_of_stages = {1, 3};
  EXPECT_EQ(RunWith(again).out, measured.out);
  EXPECT_THAT(RunWith({.costs = path, .save_costs = path}).errors, HasSubstr("needs a --config"));
  EXPECT_THAT(RunWith({.costs = path, .stream = "gate"}).errors, HasSubstr("of a --config"));
}

}  // namespace
}  // namespace millrace::service
