// The time and memory of each layer of a chain. Cuts and plans are computed from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// One layer, for one sample. Bytes that were not measured are 0.
struct LayerProfile {
  std::string name;
  StageCost cost = {};
  /// The bytes that cross a cut behind it: its output, and the skips that pass there.
  double output_bytes = 0;
  double weight_bytes = 0;
  /// The data of its forward that its backward needs.
  double activation_bytes = 0;
};

/// How a plan's devices differ, if they are on several hosts. By device, so by stage.
struct DeviceSpeeds {
  /// The factor on the times of layers there. Empty: all devices are equal.
  std::vector<double> slowness = {};
  /// The time of a byte to the next device; none for the last device. Empty: as the layers' copies.
  std::vector<double> ms_per_byte = {};

  friend bool operator==(const DeviceSpeeds&, const DeviceSpeeds&) = default;
};

/// A tensor past the layers between two layers, which count from 0.
struct SkipProfile {
  int from = 0;
  int to = 0;
  double bytes = 0;
};

/// A chain of layers, and the devices that it is planned for.
struct NetworkProfile {
  /// Times in milliseconds. A layer's copy is output_bytes / copy_gb_per_s.
  std::vector<LayerProfile> layers;
  /// The bandwidth between devices, in 10^9 bytes each second. 0: copies are free.
  double copy_gb_per_s = 0;
  /// The memory of each device. nullopt: no limit.
  std::optional<double> memory_bytes = {};
  /// Standard deviation of the logarithm of an operation's time. nullopt: not measured.
  std::optional<double> spread = {};
  /// Their bytes are also in output_bytes of each layer whose cut they pass.
  std::vector<SkipProfile> skips = {};
  /// The input of one sample.
  double input_bytes = 0;
};

/// The number of copies that a stage holds at once under a plan.
struct StageHolds {
  int versions = 1;     ///< Of its weights.
  int activations = 1;  ///< Sets of activations for backwards, or of their gradients.
  int inputs = 0;       ///< Samples kept only as inputs.

  friend bool operator==(const StageHolds&, const StageHolds&) = default;
};

/// The bytes of a stage made of the layers from `first` up to `end` (not included).
/// REQUIRES: 0 <= first < end <= layers.size().
[[nodiscard]] double StageBytes(const std::vector<LayerProfile>& layers, int first, int end,
                                const StageHolds& holds);

}  // namespace millrace::pipeline
