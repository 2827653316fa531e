// A learner's memory is known before it is made, and it takes about that much.
#include "pipeline/preflight/memory_need.h"

#include <cstdint>
#include <fstream>
#include <numeric>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_learner.h"
#include "pipeline/labels/label_learner.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/profile_layers.h"

namespace millrace::pipeline {
namespace {

/// A line of /proc/self/status, in bytes.
double StatusBytes(const std::string& key) {
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ":", 0) == 0) return 1024 * std::stod(line.substr(key.size() + 1));
  }
  return 0;
}

double Sum(const std::vector<LayerProfile>& layers, double LayerProfile::*bytes) {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [&](double sum, const LayerProfile& layer) { return sum + layer.*bytes; });
}

LabelTaskOptions Label(const std::string& network, int width) {
  return {.network = network, .width = width, .window = 4};
}

TEST(MemoryNeedTest, ANetworkForLabelsIsDescribedAsItIsBuilt) {
  for (const std::string network : {"mlp", "convolutional"}) {
    LabelTaskOptions task = Label(network, 24);
    task.grey = false;
    const LearnerOptions options{.width = 42, .height = 30};
    const std::vector<LayerProfile> described = *DescribeLabelNetwork(options, task);
    const NetworkWithState opened = *OpenLabelNetwork(options, task);
    const std::vector<LayerProfile> measured =
        MeasureMemory(opened.chain, at::zeros({4, 3, 30, 42}),
                      [](const at::Tensor& output) { return output.sum(); });
    ASSERT_EQ(described.size(), measured.size());
    for (std::size_t i = 0; i < measured.size(); ++i) {
      EXPECT_EQ(described[i].weight_bytes, measured[i].weight_bytes) << network << i;
      EXPECT_EQ(described[i].output_bytes, measured[i].output_bytes) << network << i;
    }
    EXPECT_NEAR(Sum(described, &LayerProfile::activation_bytes) /
                    Sum(measured, &LayerProfile::activation_bytes),
                1, 0.5)
        << network;
  }
}

// Its first layer alone has 3 * 4096 * 4096 * 65536 weights: 13 TB.
TEST(MemoryNeedTest, ANetworkForLabelsIsNotBuiltToBeReckoned) {
  LabelTaskOptions task = Label("mlp", 65536);
  task.grey = false;
  const LearnerOptions options{
      .width = 4096, .height = 4096, .schedule = "sequential", .stages = 1};
  EXPECT_GT(*MemoryNeedOf(options, task), 13e12);
}

TEST(MemoryNeedTest, GrowsWithThePictureAndTheStages) {
  const LearnerOptions small{.width = 128, .height = 64, .stages = 1};
  LearnerOptions large = small;
  large.width = 1280;
  large.height = 640;
  EXPECT_GT(*MemoryNeedOf(large, FlowTaskOptions()), 10 * *MemoryNeedOf(small, FlowTaskOptions()));
  LearnerOptions cut = large;
  cut.stages = 4;
  EXPECT_GT(*MemoryNeedOf(cut, FlowTaskOptions()), 1.2 * *MemoryNeedOf(large, FlowTaskOptions()));
}

TEST(MemoryNeedTest, EveryNetworkAndScheduleIsReckoned) {
  for (const std::string& network : FlowNetworkNames()) {
    EXPECT_TRUE(MemoryNeedOf({.width = 64, .height = 64}, FlowTaskOptions{.network = network}).ok())
        << network;
  }
  for (const std::string& schedule : ScheduleNames()) {
    const FlowTaskOptions task{.network = schedule == "local" ? "levels" : "flow"};
    const auto need = MemoryNeedOf({.width = 64, .height = 64, .schedule = schedule}, task);
    EXPECT_TRUE(need.ok()) << schedule << ": " << need.status();
  }
}

TEST(MemoryNeedTest, OneThatNobodyWantsAnyMoreIsNotMade) {
  std::stop_source stop;
  stop.request_stop();
  const LearnerHooks hooks{.stop = stop.get_token()};
  const auto ignore = [](const ModelPrediction&) {};
  LabelTaskOptions labels = Label("mlp", 65536);
  labels.grey = false;
  const LearnerOptions large{.width = 4096, .height = 4096, .schedule = "sequential", .stages = 1};
  EXPECT_EQ(MakeLabelLearner(large, labels, ignore, hooks).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(MakeFlowLearner({.width = 64, .height = 64}, {}, ignore, hooks).status().code(),
            absl::StatusCode::kCancelled);
}

void LearnFrom20(const LearnerOptions& options) {
  const std::size_t bytes = std::size_t{3} * options.width * options.height;
  const std::vector<std::uint8_t> one(bytes, 100);
  const std::vector<std::uint8_t> other(bytes, 150);
  auto learner = MakeFlowLearner(options, {}, [](const ModelPrediction&) {});
  ASSERT_TRUE(learner.ok()) << learner.status();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*learner)->Admit({i % 2 == 0 ? one : other, i % 2 == 0 ? other : one}).ok());
  }
  ASSERT_TRUE((*learner)->Drain().ok());
}

// Last, as what others took at most would hide it.
TEST(MemoryNeedTest, ALearnerTakesAboutWhatWasReckoned) {
  LearnFrom20({.width = 64, .height = 64, .stages = 2});  // Brings LibTorch's code into memory.
  const LearnerOptions options{.width = 320, .height = 320, .stages = 2};
  const double need = *MemoryNeedOf(options, FlowTaskOptions());
  const double before = StatusBytes("VmRSS");
  std::ofstream("/proc/self/clear_refs") << 5;  // Resets the peak.
  LearnFrom20(options);
  const double took = StatusBytes("VmHWM") - before;
  RecordProperty("need_mb", static_cast<int>(need / 1e6));
  RecordProperty("took_mb", static_cast<int>(took / 1e6));
  EXPECT_LT(took, 1.25 * need);
  EXPECT_GT(took, need / 3);
}

}  // namespace
}  // namespace millrace::pipeline
