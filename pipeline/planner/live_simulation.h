// A plan behind a camera, on paper: what is dropped and how late predictions come, under load and
// with the spread that real operations have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

struct LiveOptions {
  /// Of stages 1 to D: the means.
  std::vector<StageCost> costs;
  /// Between two frames of the camera, in the unit of the costs.
  double interval = 0;
  /// Frames that may wait before the first stage; a fresher one pushes the oldest out.
  int queue = 2;
  /// Every operation takes its mean times a lognormal factor of mean 1 and this standard deviation
  /// of its logarithm.
  double spread = 0;
  /// The gate's margin; nullopt: no gate.
  std::optional<double> gate_margin = {};
  std::int64_t frames = 3000;
  std::uint64_t seed = 1;
};

struct LiveFigures {
  double dropped_share = 0;
  /// From a frame's arrival to its prediction.
  double mean_delay = 0;
  double p99_delay = 0;
};

/// A frame that was admitted, and when its prediction was handed over. Times count from the
/// arrival of frame 0; frame n arrives n intervals later.
struct LiveSample {
  std::int64_t frame = 0;
  double predicted = 0;
};

/// The samples that `plan` makes of frames that arrive one an interval, in their order; a frame
/// that is missing was dropped. Fails as Simulate() does. REQUIRES: one cost a stage, an interval
/// above 0, room for a frame in the queue.
[[nodiscard]] absl::StatusOr<std::vector<LiveSample>> SimulateSamples(const Plan& plan,
                                                                      const LiveOptions& options);

/// What those samples come to. The first tenth is not counted: the pipeline
/// fills. Fails as Simulate() does. REQUIRES: one cost a stage.
[[nodiscard]] absl::StatusOr<LiveFigures> SimulateLive(const Plan& plan,
                                                       const LiveOptions& options);

/// The gate margin, of some that grow by halves, with the shortest delay among those with which no
/// more frames are dropped than without a gate, give or take a thousandth. 16 intervals, which is
/// as good as no gate, where none shortens it.
[[nodiscard]] absl::StatusOr<double> FindGateMargin(const Plan& plan, const LiveOptions& options);

}  // namespace millrace::pipeline
