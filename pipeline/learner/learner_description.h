// A learner at one moment: the stages of its network, and their expected behaviour. Free of
// LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/decisions/sample_label.h"

namespace millrace::pipeline {

/// One stage of the pipeline, and its expected behaviour.
struct StageDescription {
  /// The names of its layers, in order.
  std::vector<std::string> layers;
  /// Its device: "cpu:0".
  std::string device;
  /// The process that runs it: 0, this one, or another one, usually on another host.
  int rank = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double update_ms = 0;
  /// Updates between its own forward and backward of a sample.
  int staleness = 0;
  /// Samples between the gradient and the activations that it multiplies.
  int mismatch = 0;
};

/// The result of planning for a frame rate: schedule "auto".
struct RatePlan {
  /// The planned frame rate.
  double frames_per_second = 0;
  /// Whether that rate holds, and the expected share of dropped frames, at the planned amount of
  /// learning.
  bool holds = true;
  double dropped_share = 0;
  /// The reason that limits the speed, as text.
  std::string limit = {};
  /// How often it planned again because stages' times or the camera's rate changed. `switched`
  /// counts plans with other cuts or orders; `kept` counts plans that stayed.
  std::int64_t switched = 0;
  std::int64_t kept = 0;
  /// Why it last planned again. For a stage: "a backward of stage 2 takes 92.1 ms instead of 60.3".
  /// For the camera: "the camera sends 12.5 frames a second instead of 25". Empty: never.
  std::string why = {};
};

/// A learner at one moment: its stages, and their expected behaviour.
struct LearnerDescription {
  std::string schedule;
  /// Size of the pictures and of the flow, in pixels.
  int width = 0;
  int height = 0;
  std::vector<StageDescription> stages;
  /// The highest sample rates of the plan, and of one device alone. From the measured costs, at the
  /// current amount of learning.
  double samples_per_second = 0;
  double sequential_samples_per_second = 0;
  /// From admission to prediction, when samples arrive at the plan's own rate. From the measured
  /// costs.
  double delay_ms = 0;
  /// Learns from every n-th sample; 0: from no sample.
  int update_every = 1;
  /// The device, as text, if the user asked for another device than the CPU: DeviceChoice::where.
  std::string where = {};
  /// nullopt unless it was planned for a frame rate.
  std::optional<RatePlan> rate_plan = {};
  /// nullopt unless it learns from labels. Its samples are then single pictures.
  std::optional<LabelledTask> labels = {};

  /// The first layer of each stage except the first, counted from 0.
  [[nodiscard]] std::vector<std::size_t> cuts() const {
    std::vector<std::size_t> cuts;
    std::size_t layers = 0;
    for (const StageDescription& stage : stages) {
      if (layers > 0) cuts.push_back(layers);
      layers += stage.layers.size();
    }
    return cuts;
  }
};

/// A GPU's memory: the part that the process has allocated and reserved, and the free part.
struct GpuMemory {
  std::string device;  ///< "cuda:0".
  double allocated_bytes = 0;
  double reserved_bytes = 0;  ///< Allocated, plus cached for new tensors.
  double free_bytes = 0;      ///< Of the whole GPU, not used by any process.
  double total_bytes = 0;     ///< Of the whole GPU.
};

}  // namespace millrace::pipeline
