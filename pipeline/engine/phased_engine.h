// Runs plans one after the other: all of one phase's samples are learned from before the next one's
// first is admitted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/engine/engine.h"
#include "pipeline/engine/run_history.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

/// An engine for each phase in turn. Each plan counts its samples from 0; the stream's numbers go
/// on. For one thread, but for history().
class PhasedEngine {
 public:
  struct Options {
    Phases phases;
    RunStep run;
    /// Called once on each worker's thread before its first operation. May be empty.
    std::function<void(int device)> on_worker_start = {};
    /// As Engine's: of all phases.
    std::vector<StageCost> gate_costs = {};
    /// Of all phases.
    MakeDevices make_devices = MakeWorkerThreads;
    /// Called before each phase but the first, on the thread of Admit(), while nothing runs.
    std::function<void(const Phase&)> on_switch = {};
  };

  /// Checks all plans and starts the first. Fails as CheckPlan() does.
  /// The first phase's first sample is the first number in the stream.
  /// REQUIRES: each later phase begins after the one before.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PhasedEngine>> Start(Options options);

  PhasedEngine(const PhasedEngine&) = delete;
  PhasedEngine& operator=(const PhasedEngine&) = delete;

  /// Admits the next sample, as Engine::Admit() does, and returns its number in the stream. `write`
  /// gets its number in the plan. Where a phase begins, first drains the one before.
  [[nodiscard]] absl::StatusOr<std::int64_t> Admit(absl::FunctionRef<void(std::int64_t)> write);

  /// As Engine::AwaitRoom(). Where a phase begins, first drains the one before.
  absl::Status AwaitRoom();

  /// Drains the plan that runs, and goes on with `plan` from the next sample to be admitted on;
  /// phases that were still to come are given up. `gate_costs`: of the new plan's stages, empty for
  /// no gate. `while_idle` is called between the two, while nothing runs, with the new phase.
  /// Fails as CheckPlan() does, and then changes nothing, or with the failure of the plan that ran.
  absl::Status Switch(Plan plan, std::vector<StageCost> gate_costs,
                      absl::FunctionRef<void(const Phase&)> while_idle);

  /// Drains the plan that runs, calls `while_idle`, and goes on with the same plan from the next
  /// sample to be admitted on; phases that are still to come stay. Fails as Drain() does.
  absl::Status Pause(absl::FunctionRef<void(const Phase&)> while_idle);

  /// As Engine::Drain().
  absl::Status Drain();

  /// The last operations of all phases. Thread-safe.
  [[nodiscard]] const RunHistory& history() const { return history_; }

 private:
  explicit PhasedEngine(Options options)
      : run_(std::move(options.run)),
        on_worker_start_(std::move(options.on_worker_start)),
        on_switch_(std::move(options.on_switch)),
        make_devices_(std::move(options.make_devices)),
        gate_costs_(std::move(options.gate_costs)),
        phases_(std::move(options.phases)),
        next_sample_(phases_.front().first_sample) {}

  absl::Status Begin(std::size_t phase);
  absl::Status SwitchIfDue();
  [[nodiscard]] absl::Status CheckRuns() const;
  [[nodiscard]] bool NextPhaseBegins() const {
    return phase_ + 1 < phases_.size() && phases_[phase_ + 1].first_sample == next_sample_;
  }

  const RunStep run_;
  const std::function<void(int)> on_worker_start_;
  const std::function<void(const Phase&)> on_switch_;
  const MakeDevices make_devices_;
  std::vector<StageCost> gate_costs_;
  Phases phases_;
  std::size_t phase_ = 0;
  std::int64_t next_sample_;
  RunHistory history_;
  std::unique_ptr<Engine> engine_;  // Null: the next plan could not begin.
};

}  // namespace millrace::pipeline
