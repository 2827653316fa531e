#include "service/commands/plan/plan_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "service/commands/plan/plan_drawing.h"
#include "service/commands/plan/plan_json.h"
#include "service/commands/plan/plan_report.h"
#include "service/commands/plan/plan_table.h"

namespace millrace::service {
namespace {

using ::nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Layers of 3 ms, with an output of 1 MB each.
pipeline::NetworkProfile Network(int layers) {
  pipeline::NetworkProfile network{.layers = {}, .input_bytes = 2e5};
  for (int layer = 0; layer < layers; ++layer) {
    network.layers.push_back({.name = "conv" + std::to_string(layer),
                              .cost = {.forward = 1, .backward = 2, .copy = 100},
                              .output_bytes = 1e6,
                              .weight_bytes = 1e4});
  }
  return network;
}

PlanRequest OnHosts(std::vector<int> host_of_stage, std::optional<double> bytes_per_ms) {
  PlanRequest request{.schedule = "partime", .hosts = {.host_of_stage = std::move(host_of_stage)}};
  if (bytes_per_ms) request.link = pipeline::HostLink{.bytes_per_s = *bytes_per_ms * 1000};
  return request;
}

PlanReport ReportOf(const PlanRequest& request) {
  auto reports = MakePlanReports(Network(4), request);
  EXPECT_TRUE(reports.ok()) << reports.status();
  return reports.ok() ? reports->front() : PlanReport{};
}

TEST(PlanHostsTest, WithoutALinkTransfersTakeNoTimeAndThreadsCopyNothing) {
  const PlanReport one = ReportOf(OnHosts({0, 0}, std::nullopt));
  EXPECT_DOUBLE_EQ(one.period_ms, 6);
  const PlanReport two = ReportOf(OnHosts({1, 0}, std::nullopt));
  EXPECT_DOUBLE_EQ(two.period_ms, 6);
  EXPECT_DOUBLE_EQ(two.delay_ms, one.delay_ms);
  EXPECT_THAT(TextOfPlan(Network(4), two),
              AllOf(HasSubstr("host 1  host 0  activations"), HasSubstr("1 MB\n"),
                    HasSubstr("host 0  host 1  input"), Not(HasSubstr("ms at"))));
}

TEST(PlanHostsTest, AFastLinkAddsToTheDelayOnly) {
  const PlanReport one = ReportOf(OnHosts({0, 0}, std::nullopt));
  const PlanReport two = ReportOf(OnHosts({1, 0}, 1e6));
  EXPECT_DOUBLE_EQ(two.period_ms, 6);
  EXPECT_EQ(two.bottleneck.kind, Bottleneck::Kind::kStage);
  EXPECT_DOUBLE_EQ(two.delay_ms, one.delay_ms + 0.2 + 1);
}

TEST(PlanHostsTest, ASlowLinkIsTheBottleneckAndSetsThePeriod) {
  const PlanReport report = ReportOf(OnHosts({1, 1, 0}, 1e5));
  EXPECT_EQ(report.bottleneck.kind, Bottleneck::Kind::kLink);
  EXPECT_EQ(report.bottleneck.number, 0);
  EXPECT_DOUBLE_EQ(report.bottleneck.load_ms, (1e6 + 2e5) / 1e5);  // Gradients, and the input.
  EXPECT_DOUBLE_EQ(report.period_ms, report.bottleneck.load_ms);
  EXPECT_THAT(TextOfPlan(Network(4), report),
              AllOf(HasSubstr("ms at 800 Mbit/s"),
                    HasSubstr("the link of host 0: 12 ms a sample to send 1.2 MB")));
}

// Activations from one host, gradients from the other, on one link.
TEST(PlanHostsTest, AHostBetweenTwoOthersReceivesFromBoth) {
  const PlanReport report = ReportOf(OnHosts({2, 1, 0}, 1e5));
  EXPECT_EQ(report.bottleneck.number, 1);
  EXPECT_DOUBLE_EQ(report.hosts->loads[1].received_bytes, 2e6);
  EXPECT_GE(report.bottleneck.load_ms, 20);
  EXPECT_DOUBLE_EQ(report.min_period_ms, report.bottleneck.load_ms);
}

TEST(PlanHostsTest, JsonAndDrawingNameTheHosts) {
  const PlanReport report = ReportOf(OnHosts({1, 0}, 1e5));
  const json plan = json::parse(PlanJson(Network(4), {report}));
  EXPECT_EQ(plan["hosts"]["stages_on"], json({1, 0}));
  EXPECT_EQ(plan["hosts"]["transfers"][0]["kind"], "input");
  EXPECT_EQ(plan["hosts"]["transfers"].size(), 4U);
  EXPECT_EQ(plan["hosts"]["link_bytes_per_s"], 1e8);
  EXPECT_EQ(plan["bottleneck"]["host"], 0);
  EXPECT_THAT(*PlanSvg({report}), AllOf(HasSubstr("stage 1, host 1"), HasSubstr("copy F1")));
}

TEST(PlanHostsTest, WrongHostsAreRefusedInWords) {
  const auto refusal = [](std::vector<int> hosts, const std::string& schedule) {
    PlanRequest request = OnHosts(std::move(hosts), std::nullopt);
    request.schedule = schedule;
    return std::string(MakePlanReports(Network(4), request).status().message());
  };
  EXPECT_THAT(refusal({0, 1}, "partime"), HasSubstr("the last stage is on rank 0"));
  EXPECT_THAT(refusal({2, 0}, "partime"), HasSubstr("fall from stage to stage"));
  EXPECT_THAT(refusal({1, 0}, "auto"), HasSubstr("schedule auto cannot be planned here"));
  EXPECT_THAT(refusal({1, 0}, "local"), HasSubstr("schedule local cannot be planned here"));
  EXPECT_THAT(refusal({4, 3, 2, 1, 0}, "partime"), HasSubstr("1 to 4"));
}

}  // namespace
}  // namespace millrace::service
