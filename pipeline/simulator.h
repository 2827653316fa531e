// Runs a plan on paper: when each operation would start and end, given what each stage costs.
//
// The same orders and the same waiting as the engine's, without doing the work. It finds deadlocks
// before anything runs, and tells the delay and the rate to expect.
#pragma once

#include <array>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan.h"
#include "pipeline/schedules.h"

namespace millrace::pipeline {

/// When one operation ran. The unit is that of the costs.
struct Span {
  double start = 0;
  double end = 0;
};

/// When everything ran. Index 0 is the camera, whose forward is admission.
class Timeline {
 public:
  explicit Timeline(int stages);

  [[nodiscard]] const std::vector<Span>& of(OperationKind kind, int stage) const {
    return spans_[static_cast<int>(kind)][stage];
  }
  void Append(OperationKind kind, int stage, Span span) {
    spans_[static_cast<int>(kind)][stage].push_back(span);
  }
  /// The last forward's end of each sample: when its prediction is handed over.
  [[nodiscard]] const std::vector<Span>& predictions() const { return spans_[0].back(); }

 private:
  std::array<std::vector<std::vector<Span>>, kOperationKinds> spans_;
};

/// Runs `plan` self-timed on samples that arrive at the times `arrivals` (not decreasing), then
/// drains it. Fails with FAILED_PRECONDITION naming what waits for what if the plan comes to a
/// standstill. REQUIRES: one cost a stage.
[[nodiscard]] absl::StatusOr<Timeline> Simulate(const Plan& plan,
                                                const std::vector<StageCost>& costs,
                                                const std::vector<double>& arrivals);

/// The time between two samples in steady state when samples are always ready.
[[nodiscard]] absl::StatusOr<double> SteadyPeriod(const Plan& plan,
                                                  const std::vector<StageCost>& costs);

/// From arrival to prediction in steady state, when a sample arrives every `interval`.
[[nodiscard]] absl::StatusOr<double> SteadyDelay(const Plan& plan,
                                                 const std::vector<StageCost>& costs,
                                                 double interval);

}  // namespace millrace::pipeline
