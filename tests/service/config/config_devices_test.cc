// schedule.devices: one name for all stages, or a list.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "service/config/config.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<Config> WithDevices(const std::string& devices, const std::string& model = "{}") {
  return ParseConfig(
      absl::StrCat("version: 1\nstreams:\n- {name: a, source: {uri: 'test:'}, model: ", model,
                   ", schedule: {stages: 2, devices: ", devices, "}}\n"),
      "file");
}

std::vector<std::string> DevicesOf(const std::string& devices) {
  const absl::StatusOr<Config> config = WithDevices(devices);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->streams.front().learner.devices : std::vector<std::string>();
}

TEST(ConfigDevicesTest, OneNameOrOneForEachStage) {
  EXPECT_THAT(DevicesOf("auto"), ElementsAre("auto"));
  EXPECT_THAT(DevicesOf("cuda"), ElementsAre("cuda"));
  EXPECT_THAT(DevicesOf("[cuda:1]"), ElementsAre("cuda:1"));
  EXPECT_THAT(DevicesOf("[cpu, 'cuda:0']"), ElementsAre("cpu", "cuda:0"));
  const absl::StatusOr<Config> config =
      ParseConfig("version: 1\nstreams: [{name: a, source: {uri: 'test:'}}]\n", "file");
  EXPECT_THAT(config->streams.front().learner.devices, IsEmpty()) << "the CPU";
}

TEST(ConfigDevicesTest, WhatIsNoDeviceIsRefusedWithWhatIs) {
  for (const char* devices :
       {"gpu", "'cuda:'", "'cuda:x'", "'cuda:-1'", "[cpu, auto]", "[cpu, gpu]"}) {
    const absl::Status status = WithDevices(devices).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("it must be auto, or of cpu, cuda"))
        << devices;
  }
  EXPECT_FALSE(WithDevices("[]").ok());
  EXPECT_FALSE(WithDevices("{}").ok());
}

TEST(ConfigDevicesTest, TasksOfLabelsHaveNone) {
  const absl::Status status = WithDevices("cuda", "{task: regression, outputs: 1}").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("'devices' is not for the tasks"));
}

TEST(ConfigDevicesTest, CudaGraphsCanBeLeftOut) {
  EXPECT_TRUE(WithDevices("cuda")->streams.front().learner.captures);
  EXPECT_FALSE(WithDevices("cuda, cuda_graphs: false")->streams.front().learner.captures);
}

TEST(ConfigDevicesTest, APrecisionIsANetworksOwn) {
  const auto of = [](const std::string& model) {
    const auto config = WithDevices("cuda", model);
    EXPECT_TRUE(config.ok()) << config.status();
    return config->streams.front().flow.precision;
  };
  EXPECT_EQ(of("{}"), pipeline::Precision::kFloat32);
  EXPECT_EQ(of("{precision: float32}"), pipeline::Precision::kFloat32);
  EXPECT_EQ(of("{precision: bfloat16}"), pipeline::Precision::kBFloat16);
  const absl::Status status = WithDevices("cuda", "{precision: half}").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("float32, bfloat16"));
}

}  // namespace
}  // namespace millrace::service
