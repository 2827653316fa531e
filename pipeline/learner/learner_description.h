// What a learner is at one moment: how its network was cut, and what to expect of it. Free of
// LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/decisions/sample_label.h"

namespace millrace::pipeline {

/// One stage of the pipeline, as it was cut and as it will behave.
struct StageDescription {
  /// The names of its layers, in order.
  std::vector<std::string> layers;
  /// Where it runs: "cpu:0".
  std::string device;
  double forward_ms = 0;
  double backward_ms = 0;
  double update_ms = 0;
  /// Updates between its own forward and backward of a sample.
  int staleness = 0;
  /// Samples between the gradient and the activations that it multiplies.
  int mismatch = 0;
};

/// What planning for a frame rate came to: schedule "auto".
struct RatePlan {
  /// What it was planned for.
  double frames_per_second = 0;
  /// Whether that rate holds, and the share of the frames that is expected to be dropped, when so
  /// much is learned as was planned.
  bool holds = true;
  double dropped_share = 0;
  /// What stands in the way of more speed, in words.
  std::string limit = {};
  /// How often it was planned again because stages took another time than planned: then went on
  /// with other cuts or orders, or kept those that it had.
  std::int64_t switched = 0;
  std::int64_t kept = 0;
  /// Why it was planned again last: "a backward of stage 2 takes 92.1 ms instead of 60.3". Empty:
  /// it was not.
  std::string why = {};
};

/// A learner at one moment: how it was cut, and what to expect of it.
struct LearnerDescription {
  std::string schedule;
  /// Size of the pictures and of the flow, in pixels.
  int width = 0;
  int height = 0;
  std::vector<StageDescription> stages;
  /// Samples a second that the plan can hold, and that one device alone could, by the measured
  /// costs, learning from as many samples as it does.
  double samples_per_second = 0;
  double sequential_samples_per_second = 0;
  /// From admission to prediction, when samples come at the plan's own rate, by the measured costs.
  double delay_ms = 0;
  /// From every which sample it learns; 0: from none.
  int update_every = 1;
  /// Where it computes, in words, if anything but the CPU was asked for: DeviceChoice::where.
  std::string where = {};
  /// Nothing, unless it was planned for a frame rate.
  std::optional<RatePlan> rate_plan = {};
  /// Nothing, unless it learns from labels: then its samples are single pictures.
  std::optional<LabelledTask> labels = {};

  /// The layers, counted from 0, that start each stage after the first.
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

/// A GPU's memory: what the process has of it, in tensors and kept for the next ones besides, and
/// what is left to whoever asks next.
struct GpuMemory {
  std::string device;  ///< "cuda:0".
  double allocated_bytes = 0;
  double reserved_bytes = 0;  ///< Allocated and free for tensors.
  double free_bytes = 0;      ///< Of the whole GPU: no process has it.
  double total_bytes = 0;     ///< Of the whole GPU.
};

}  // namespace millrace::pipeline
