// Simulates a plan: the start and end of each operation, at given costs of the stages.
//
// It keeps the orders and the dependencies of the engine, without the work. It finds deadlocks
// before anything runs, and predicts the delay and the rate.
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
  /// The gate. It admits a sample this margin before its latest start, at the earliest. The latest
  /// start is the last time at which no later stage would wait. nullopt: admits each sample once
  /// there is room.
  std::optional<double> gate_margin = {};
  /// Changes the cost of an operation, to simulate a spread. Empty: the costs do not change.
  std::function<double(const Step&, double cost)> vary = {};
  /// Called with each simulated operation. May be empty.
  std::function<void(std::size_t device, const Step&, Span)> observe = {};
};

/// Runs `plan` self-timed, then drains it. Fails with FAILED_PRECONDITION if the plan deadlocks;
/// the message names the waiting operations and their dependencies. REQUIRES: one cost for each
/// stage.
[[nodiscard]] absl::StatusOr<Timeline> Simulate(const Plan& plan, const SimulationOptions& options);

/// The rate and the delay of a plan in steady state.
struct SteadyFigures {
  /// Mean time between two samples.
  double period = 0;
  /// Mean time from arrival to prediction, at one sample each interval.
  double delay = 0;
  /// Idle share of the time of each device.
  std::vector<double> idle;
};

/// The time between two samples in steady state when samples are always ready.
[[nodiscard]] absl::StatusOr<double> SteadyPeriod(const Plan& plan,
                                                  const std::vector<StageCost>& costs);

/// The steady state when a sample arrives every `interval`.
[[nodiscard]] absl::StatusOr<SteadyFigures> Steady(const Plan& plan,
                                                   const std::vector<StageCost>& costs,
                                                   double interval);

}  // namespace millrace::pipeline
