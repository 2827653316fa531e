// What each layer of a chain costs in time and in memory: what cuts and plans are made from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// One layer, for one sample. Bytes that nobody has measured are 0.
struct LayerCosts {
  std::string name;
  StageCost cost = {};
  /// What a cut behind it carries over: its output, and the skips that pass there.
  double output_bytes = 0;
  double weight_bytes = 0;
  /// What its backward needs of its forward.
  double activation_bytes = 0;
};

/// A chain of layers, and what it is to be spread over.
struct NetworkCosts {
  /// Times in milliseconds. Their copies are output_bytes / copy_gb_per_s.
  std::vector<LayerCosts> layers;
  /// Between devices, 10^9 bytes each second. 0: copies are free.
  double copy_gb_per_s = 0;
  /// Of each device. Nothing: no limit.
  std::optional<double> memory_bytes = {};
  /// Standard deviation of the logarithm of an operation's time. Nothing: nobody measured it.
  std::optional<double> spread = {};
};

/// How much a stage holds at once under a plan.
struct StageHolds {
  int versions = 1;     ///< Of its weights.
  int activations = 1;  ///< Sets of what backwards need.
  int inputs = 0;       ///< Samples of which it keeps the input only.

  friend bool operator==(const StageHolds&, const StageHolds&) = default;
};

/// The bytes of a stage made of the layers from `first` up to `end` (not included).
/// REQUIRES: 0 <= first < end <= layers.size().
[[nodiscard]] double StageBytes(const std::vector<LayerCosts>& layers, int first, int end,
                                const StageHolds& holds);

}  // namespace millrace::pipeline
