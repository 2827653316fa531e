// Simulates a plan: the start and end of each operation, at given costs of the stages.
//
// It keeps the orders and the dependencies of the engine, without the work. Products reach other
// devices over links (copies.h). The simulator finds deadlocks before anything runs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// The time of one operation, in the unit of the costs.
struct Span {
  double start = 0;
  double end = 0;
};

/// The times of all operations, by sample. Operations that never ran have no time. Index 0 is the
/// camera, whose forward is admission.
class Timeline {
 public:
  explicit Timeline(int stages);

  /// The times of samples 0, 1, 2 ... on which this stage has done `kind`.
  [[nodiscard]] const std::vector<Span>& of(OperationKind kind, int stage) const {
    return spans_[static_cast<int>(kind)][stage];
  }
  void Set(const Step& step, Span span);
  /// The last stage's forward of each sample. The prediction is delivered at its end.
  [[nodiscard]] const std::vector<Span>& predictions() const { return spans_[0].back(); }

 private:
  std::array<std::vector<std::vector<Span>>, kOperationKinds> spans_;
};

struct SimulationOptions {
  /// Costs of stages 1 to D.
  std::vector<StageCost> costs;
  /// Arrival times of the samples, not decreasing.
  std::vector<double> arrivals = {};
  /// Replaces `arrivals`: returns the admission time of the next sample, which has room from
  /// `ready` on; nullopt at the end of the stream. Called once for each sample, in order.
  std::function<std::optional<double>(double ready)> admit = {};
  /// Changes the cost of an operation, to simulate a spread. Empty: the costs do not change.
  std::function<double(const Step&, double cost)> vary = {};
  /// Called with each simulated operation. May be empty.
  std::function<void(std::size_t device, const Step&, Span)> observe = {};
};

/// Runs `plan` self-timed, then drains it. Fails with FAILED_PRECONDITION if the plan deadlocks;
/// the message names the waiting operations and their dependencies. REQUIRES: one cost for each
/// stage.
[[nodiscard]] absl::StatusOr<Timeline> Simulate(const Plan& plan, const SimulationOptions& options);

}  // namespace millrace::pipeline
