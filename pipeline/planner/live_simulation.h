// Simulates a plan behind a camera: dropped frames and delay under load, with the spread of real
// operations.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

struct LiveOptions {
  /// Mean costs of stages 1 to D.
  std::vector<StageCost> costs;
  /// The time between two frames of the camera, in the unit of the costs.
  double interval = 0;
  /// Frames that may wait before the first stage. A full queue drops its oldest frame.
  int queue = 2;
  /// Every operation takes its mean times a lognormal factor of mean 1. This is the standard
  /// deviation of the factor's logarithm.
  double spread = 0;
  std::int64_t frames = 3000;
  std::uint64_t seed = 1;
};

struct LiveFigures {
  double dropped_share = 0;
  /// From a frame's arrival to its prediction.
  double mean_delay = 0;
  double p50_delay = 0;
  double p99_delay = 0;
};

/// An admitted frame, and the time of its prediction. Times count from the arrival of frame 0;
/// frame n arrives n intervals later.
struct LiveSample {
  std::int64_t frame = 0;
  double predicted = 0;
};

/// The samples that `plan` makes of frames that arrive one each interval, in order. Frames missing
/// from the result were dropped. Fails as Simulate() does. REQUIRES: one cost for each stage,
/// interval > 0, queue >= 1.
[[nodiscard]] absl::StatusOr<std::vector<LiveSample>> SimulateSamples(const Plan& plan,
                                                                      const LiveOptions& options);

/// The drops and delays of SimulateSamples(). Ignores the first tenth, while the pipeline fills.
/// Fails as Simulate() does. REQUIRES: one cost for each stage.
[[nodiscard]] absl::StatusOr<LiveFigures> SimulateLive(const Plan& plan,
                                                       const LiveOptions& options);

}  // namespace millrace::pipeline
