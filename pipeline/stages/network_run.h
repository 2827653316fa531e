// A network at work: cut into stages, planned, tried on its first input, and run by the engine.
// What all that learns from a user's samples does in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/engine/phased_engine.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/staged_network.h"
#include "pipeline/timeline/run_recorder.h"

namespace millrace::pipeline {

/// A network that has been cut, and what will come in first. Borrowed.
struct FirstInput {
  const LayerChain& chain;
  const Cuts& cuts;
  const at::Tensor& input;
  /// Of what layers draw at random.
  std::uint64_t seed = 0;
};

/// Whether a loss can judge an output; `what` names the network or the stage that made it.
using CheckOutput =
    absl::FunctionRef<absl::Status(const at::Tensor& output, const std::string& what)>;

/// Runs the first input through, to find what does not fit before anything learns, and puts back
/// what that changed. `check` gets the last stage's output and, under schedule "local", every
/// stage's. INVALID_ARGUMENT naming the stage that refuses its input, or what `check` returns.
[[nodiscard]] absl::Status TryStages(const FirstInput& first, const std::string& schedule,
                                     CheckOutput check);

/// The plans of `schedule`. The request's shape and costs are filled in: where it has a period,
/// in milliseconds, layers are measured with `objective`; otherwise all stages cost the same.
/// Fails as MakePhases() does.
[[nodiscard]] absl::StatusOr<Phases> PlanStages(
    const FirstInput& first, const std::string& schedule, ScheduleRequest request,
    const std::function<at::Tensor(const at::Tensor&)>& objective);

/// A staged network and the engine that runs it. For one thread; updates() is thread-safe.
class NetworkRun {
 public:
  struct Options {
    /// Its plan is the first phase's.
    StagedNetwork::Options network;
    Phases phases;
    /// Threads inside an operation.
    int threads_per_stage = 1;
    /// Called where a later phase begins, while nothing runs. May be empty.
    std::function<void()> on_switch = {};
    /// Notes when each operation ran. Null: nobody does. Outlives the run.
    RunRecorder* recorder = nullptr;
  };

  /// Fails as CheckPlan() does. REQUIRES: as StagedNetwork's constructor.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<NetworkRun>> Start(Options options);

  NetworkRun(const NetworkRun&) = delete;
  NetworkRun& operator=(const NetworkRun&) = delete;

  /// Takes the next sample, waiting until the first stage has room, and returns its number. Fails
  /// with the cause once an operation has failed.
  [[nodiscard]] absl::StatusOr<std::int64_t> Admit(const at::Tensor& input);

  /// Waits until a sample would be admitted at once. Fails as Admit() does.
  [[nodiscard]] absl::Status AwaitRoom() { return engine_->AwaitRoom(); }

  /// Finishes what was admitted, calls `while_idle` and goes on with the next sample. Fails as
  /// Drain() does. What `while_idle` may call: StagedNetwork::Restore().
  absl::Status Pause(absl::FunctionRef<void(StagedNetwork&)> while_idle);

  /// Runs every operation whose inputs exist. Nothing can be admitted afterwards.
  absl::Status Drain() { return engine_->Drain(); }

  /// As PhasedEngine's. Thread-safe.
  [[nodiscard]] const RunHistory& history() const { return engine_->history(); }

  [[nodiscard]] const StagedNetwork& network() const { return network_; }
  [[nodiscard]] StagedNetwork& network() { return network_; }

 private:
  explicit NetworkRun(StagedNetwork::Options network) : network_(std::move(network)) {}

  StagedNetwork network_;
  std::unique_ptr<PhasedEngine> engine_;  // Last: its workers use the network.
};

}  // namespace millrace::pipeline
