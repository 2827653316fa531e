// Runs a plan on paper: when each operation would start and end, given what each stage costs.
//
// The same orders and the same waiting as the engine's, without doing the work. It finds deadlocks
// before anything runs, and tells the delay and the rate to expect.
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

/// When one operation ran. The unit is that of the costs.
struct Span {
  double start = 0;
  double end = 0;
};

/// When everything ran, by sample; operations that never ran have no time. Index 0 is the camera,
/// whose forward is admission.
class Timeline {
 public:
  explicit Timeline(int stages);

  /// Of samples 0, 1, 2 ..., as many as this stage has done this on.
  [[nodiscard]] const std::vector<Span>& of(OperationKind kind, int stage) const {
    return spans_[static_cast<int>(kind)][stage];
  }
  void Set(const Step& step, Span span);
  /// The last forward of each sample, at whose end its prediction is handed over.
  [[nodiscard]] const std::vector<Span>& predictions() const { return spans_[0].back(); }

 private:
  std::array<std::vector<std::vector<Span>>, kOperationKinds> spans_;
};

struct SimulationOptions {
  /// Of stages 1 to D.
  std::vector<StageCost> costs;
  /// When samples arrive (not decreasing).
  std::vector<double> arrivals = {};
  /// Instead of `arrivals`: when the next sample is admitted, if there is room for it from `ready`
  /// on; nullopt at the end of the stream. Called once for each sample, in order.
  std::function<std::optional<double>(double ready)> admit = {};
  /// Admits no sample earlier than this long before the latest time at which no later stage would
  /// wait for it: the gate. nullopt: as soon as there is room.
  std::optional<double> gate_margin = {};
  /// Changes what an operation costs, for a spread of the costs. Empty: the costs as they are.
  std::function<double(const Step&, double cost)> vary = {};
  /// Called with each operation of a device, as it is run. May be empty.
  std::function<void(std::size_t device, const Step&, Span)> observe = {};
};

/// Runs `plan` self-timed, then drains it. Fails with FAILED_PRECONDITION naming what waits for
/// what if the plan comes to a standstill. REQUIRES: one cost a stage.
[[nodiscard]] absl::StatusOr<Timeline> Simulate(const Plan& plan, const SimulationOptions& options);

/// What a plan does in steady state.
struct SteadyFigures {
  /// Between two samples, on average.
  double period = 0;
  /// From arrival to prediction, when samples arrive one an interval: on average and at most.
  double delay = 0;
  double longest_delay = 0;
  /// Share of the time that each device does nothing.
  std::vector<double> idle;
};

/// The time between two samples in steady state when samples are always ready.
[[nodiscard]] absl::StatusOr<double> SteadyPeriod(const Plan& plan,
                                                  const std::vector<StageCost>& costs);

/// In steady state, when a sample arrives every `interval`.
[[nodiscard]] absl::StatusOr<SteadyFigures> Steady(const Plan& plan,
                                                   const std::vector<StageCost>& costs,
                                                   double interval);

}  // namespace millrace::pipeline
