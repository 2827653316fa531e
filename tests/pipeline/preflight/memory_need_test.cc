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
#include "pipeline/labels/label_networks.h"
#include "pipeline/labels/label_stream_learner.h"
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

LabelStreamOptions Label(const std::string& network, int width) {
  LabelStreamOptions options;
  options.learner.network = network;
  options.learner.width = width;
  options.learner.window = 4;
  return options;
}

TEST(MemoryNeedTest, ANetworkForLabelsIsDescribedAsItIsBuilt) {
  for (const std::string network : {"mlp", "convolutional"}) {
    LabelLearnerOptions options = Label(network, 24).learner;
    options.sample_shape = {3, 30, 42};
    const std::vector<LayerProfile> described = *DescribeLabelNetwork(options);
    const NetworkWithState opened = *OpenLabelNetwork(options);
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
  LabelStreamOptions options = Label("mlp", 65536);
  options.grey = false;
  options.width = options.height = 4096;
  EXPECT_GT(*MemoryNeedOf(options), 13e12);
}

TEST(MemoryNeedTest, GrowsWithThePictureAndTheStages) {
  const FlowLearnerOptions small{.width = 128, .height = 64, .stages = 1};
  FlowLearnerOptions large = small;
  large.width = 1280;
  large.height = 640;
  EXPECT_GT(*MemoryNeedOf(large), 10 * *MemoryNeedOf(small));
  FlowLearnerOptions cut = large;
  cut.stages = 4;
  EXPECT_GT(*MemoryNeedOf(cut), 1.2 * *MemoryNeedOf(large));
}

TEST(MemoryNeedTest, EveryNetworkAndScheduleIsReckoned) {
  for (const std::string& network : FlowNetworkNames()) {
    EXPECT_TRUE(
        MemoryNeedOf(FlowLearnerOptions{.network = network, .width = 64, .height = 64}).ok())
        << network;
  }
  for (const std::string& schedule : ScheduleNames()) {
    FlowLearnerOptions options{.width = 64, .height = 64, .schedule = schedule};
    if (schedule == "local") options.network = "levels";
    const auto need = MemoryNeedOf(options);
    EXPECT_TRUE(need.ok()) << schedule << ": " << need.status();
  }
}

TEST(MemoryNeedTest, OneThatNobodyWantsAnyMoreIsNotMade) {
  std::stop_source stop;
  stop.request_stop();
  LabelStreamOptions labels = Label("mlp", 65536);
  labels.grey = false;
  labels.width = labels.height = 4096;
  labels.stop = stop.get_token();
  EXPECT_EQ(MakeLabelStreamLearner(labels, [](const ModelPrediction&) {}).status().code(),
            absl::StatusCode::kCancelled);
  const FlowLearnerOptions flow{.width = 64, .height = 64, .stop = stop.get_token()};
  EXPECT_EQ(MakeFlowLearner(flow, [](const ModelPrediction&) {}).status().code(),
            absl::StatusCode::kCancelled);
}

// Last, as what others took at most would hide it.
TEST(MemoryNeedTest, ALearnerTakesAboutWhatWasReckoned) {
  constexpr int kSide = 320;
  std::vector<std::uint8_t> one(3 * kSide * kSide, 100);
  std::vector<std::uint8_t> other(3 * kSide * kSide, 150);
  const FlowLearnerOptions options{.width = kSide, .height = kSide, .stages = 2};
  const double need = *MemoryNeedOf(options);
  const double before = StatusBytes("VmRSS");
  std::ofstream("/proc/self/clear_refs") << 5;  // Resets the peak.
  auto learner = MakeFlowLearner(options, [](const ModelPrediction&) {});
  ASSERT_TRUE(learner.ok()) << learner.status();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*learner)->Admit({i % 2 == 0 ? one : other, i % 2 == 0 ? other : one}).ok());
  }
  ASSERT_TRUE((*learner)->Drain().ok());
  const double took = StatusBytes("VmHWM") - before;
  RecordProperty("need_mb", static_cast<int>(need / 1e6));
  RecordProperty("took_mb", static_cast<int>(took / 1e6));
  EXPECT_LT(took, 1.25 * need);
  EXPECT_GT(took, need / 3);
}

}  // namespace
}  // namespace millrace::pipeline
