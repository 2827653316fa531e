// Computes the latest start of the next sample at which no later stage would wait for it. It
// simulates the running pipeline as far as the pipeline can run without that sample.
//
//   L = max over stages h of ( when all that precedes F_h(t) on its device ends
//                              - the forwards and copies before h )
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_cursor.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// A device's position in its order.
struct DeviceState {
  PlanCursor at;
  /// The start of the operation there; nullopt while it waits.
  std::optional<double> running_since = {};
};

/// The position of a running pipeline, and the times of its operations.
struct PipelineState {
  Progress progress;
  std::vector<DeviceState> devices;
  /// Mean time of each operation, by device and place.
  std::vector<std::vector<double>> means;
  /// Costs of stages 1 to D. The forwards are means, too.
  std::vector<StageCost> costs;
};

/// For one thread at a time. Allocates only in the first call of From().
class LatestStart {
 public:
  /// REQUIRES: both arguments outlive this object.
  LatestStart(const Plan& plan, const Dependencies& dependencies);

  /// The latest start. It is in the past if no stage waits for the sample.
  [[nodiscard]] double From(const PipelineState& state, double now);

 private:
  void Restart(const PipelineState& state, double now);
  bool Advance(const PipelineState& state, std::size_t d);
  void Finish(std::size_t d);
  [[nodiscard]] double EndOf(const Dependency& dependency, std::int64_t pattern) const;

  // Constant after construction.
  const Plan& plan_;
  const Dependencies& dependencies_;

  // State of the current call; kept to avoid allocation in the next one.
  Progress before_;
  Progress progress_;
  std::vector<DeviceState> devices_;
  std::vector<double> free_at_;
  // The ends of operations that had not ended yet: by kind and stage, in the stage's order.
  std::array<std::vector<std::vector<double>>, kOperationKinds> ends_;
};

}  // namespace millrace::pipeline
