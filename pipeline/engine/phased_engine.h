// Runs plans one after the other. All samples of one phase are learned from before the first sample
// of the next is admitted.
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

/// One engine for each phase in turn. Each plan counts its samples from 0; the stream's numbers
/// continue. For one thread, except history().
class PhasedEngine {
 public:
  struct Options {
    Phases phases;
    RunStep run;
    /// Called once on each worker's thread before its first operation. May be empty.
    std::function<void(int device)> on_worker_start = {};
    /// For all phases.
    MakeDevices make_devices = MakeWorkerThreads;
    /// Called before each phase except the first, on the thread of Admit(), while nothing runs.
    std::function<void(const Phase&)> on_switch = {};
    /// As in Engine, for all phases.
    std::vector<ObserveOperation> observers = {};
    const Clock* clock = &MonotonicClock();
  };

  /// Checks all plans and starts the first. The stream's numbers start at the first phase's first
  /// sample. Fails as CheckPlan() does. REQUIRES: each later phase begins after the one before.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PhasedEngine>> Start(Options options);

  PhasedEngine(const PhasedEngine&) = delete;
  PhasedEngine& operator=(const PhasedEngine&) = delete;

  /// Admits the next sample, as Engine::Admit() does, and returns its number in the stream. `write`
  /// gets its number in the plan. At the start of a phase, drains the phase before first.
  [[nodiscard]] absl::StatusOr<std::int64_t> Admit(absl::FunctionRef<void(std::int64_t)> write);

  /// The number of the next sample. For the admitting thread.
  [[nodiscard]] std::int64_t next_sample() const { return next_sample_; }

  /// As Engine::AwaitRoom(). At the start of a phase, drains the phase before first.
  absl::Status AwaitRoom();

  /// Drains the running plan, and continues with `plan` from the next admitted sample. Later phases
  /// are discarded. Calls `while_idle` with the new phase between the two, while nothing runs.
  /// Fails as CheckPlan() does, with the failure of the old plan, or as `while_idle`. Then it keeps
  /// the old plan, also for Resume().
  absl::Status Switch(Plan plan, absl::FunctionRef<absl::Status(const Phase&)> while_idle);

  /// Drains the running plan, calls `while_idle`, and continues the same plan with the next
  /// admitted sample. Keeps the later phases. Fails as Drain() does.
  absl::Status Pause(absl::FunctionRef<void(const Phase&)> while_idle);

  /// As Engine::Drain().
  absl::Status Drain();

  /// Gives up the samples under way, and ends the running plan's threads. No operation of it may
  /// wait forever. All calls fail until Resume().
  void Suspend();
  /// Calls `while_idle`, and continues the suspended plan with the next sample. Fails as
  /// `while_idle`. REQUIRES: Suspend() was the last call.
  absl::Status Resume(absl::FunctionRef<absl::Status(const Phase&)> while_idle);

  /// The last operations of all phases. Thread-safe.
  [[nodiscard]] const RunHistory& history() const { return history_; }

 private:
  explicit PhasedEngine(Options options)
      : run_(std::move(options.run)),
        on_worker_start_(std::move(options.on_worker_start)),
        on_switch_(std::move(options.on_switch)),
        make_devices_(std::move(options.make_devices)),
        observers_(std::move(options.observers)),
        clock_(*options.clock),
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
  const std::vector<ObserveOperation> observers_;
  const Clock& clock_;
  Phases phases_;
  std::size_t phase_ = 0;
  std::int64_t next_sample_;
  RunHistory history_;
  std::unique_ptr<Engine> engine_;  // Null: suspended, or the next plan could not begin.
};

}  // namespace millrace::pipeline
