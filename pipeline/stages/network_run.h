// A network that is cut into stages, planned, tried on its first input, and run by the engine. It
// is the common part of all tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/engine/phased_engine.h"
#include "pipeline/engine/run_history.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// A network with its cuts, and its first input. Borrowed.
struct FirstInput {
  const LayerChain& chain;
  const Cuts& cuts;
  const at::Tensor& input;
  /// The seed of the layers' random numbers.
  std::uint64_t seed = 0;
};

/// Checks that a loss can use an output; `what` names the network or the stage that made it.
using CheckOutput =
    absl::FunctionRef<absl::Status(const at::Tensor& output, const std::string& what)>;

/// Runs the first input through, so that a misfit is found before the network learns. Restores all
/// state afterwards. `check` gets the last stage's output and, under schedule "local", every
/// stage's. Fails with INVALID_ARGUMENT, naming the stage that rejects its input, or with the error
/// of `check`.
[[nodiscard]] absl::Status TryStages(const FirstInput& first, const std::string& schedule,
                                     CheckOutput check);

/// The plans of `schedule`. Fills in the shape and costs of `request`. If it has a period, in
/// milliseconds, layers are measured with `objective`; otherwise all stages have the same cost.
/// Fails as MakePhases().
[[nodiscard]] absl::StatusOr<Phases> PlanStages(
    const FirstInput& first, const std::string& schedule, ScheduleRequest request,
    const std::function<at::Tensor(const at::Tensor&)>& objective);

/// What changes between two samples. nullopt stays.
struct NetworkChange {
  /// Of the whole network, with its cuts.
  std::optional<Plan> plan = {};
  Cuts cuts = {};
  std::optional<OptimizerOptions> optimizer = {};
};

/// A staged network and the engine that runs it. For one thread, except where noted. If a
/// GPU fails during a call, also between operations, the call fails as FailureOf().
class NetworkRun {
 public:
  struct Options {
    /// Its plan is the plan of the first phase.
    StagedNetwork::Options network;
    Phases phases;
    /// Threads inside an operation.
    int threads_per_stage = 1;
    /// Start() ends with Suspend(). Then `network.ranks` need no others: their wires are not used.
    bool suspended = false;
    /// Called with the network before the engine starts. It may call NetworkStore::Restore(). May
    /// be empty.
    std::function<void(StagedNetwork&)> prepare = {};
    /// Called when a later phase or another plan begins, while no operation runs. May be empty.
    std::function<void()> on_switch = {};
    /// Called when another optimizer begins, while no operation runs. May be empty.
    std::function<void()> on_optimizer = {};
    /// On the leader of other ranks: called before a change, once these expect a task
    /// (MessageKind::kSwitch). Sends it (rank_task.h), and returns this rank's part of the plan.
    /// The change is made at the next on_switch(), unless a call fails.
    std::function<absl::StatusOr<Plan>(const NetworkChange&)> tell_ranks = {};
    /// Observers of operations, beside the network's.
    std::vector<ObserveOperation> observers = {};
    /// Times the operations; outlives the run.
    const Clock* clock = &MonotonicClock();
    /// Records when each operation ran. May be null. Outlives the run.
    RunHistory* recorder = nullptr;
  };

  /// Fails as CheckPlan(). With other ranks, also if one is lost: each must call it. REQUIRES: as
  /// StagedNetwork's constructor.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<NetworkRun>> Start(Options options);

  /// Ends the threads. With other ranks, ends the group unless the stream has ended.
  ~NetworkRun();

  NetworkRun(const NetworkRun&) = delete;
  NetworkRun& operator=(const NetworkRun&) = delete;

  /// Takes the next sample, waiting until the first stage has room, and returns its number. `input`
  /// makes the sample once there is room. After a failed operation, fails with its cause.
  [[nodiscard]] absl::StatusOr<std::int64_t> Admit(absl::FunctionRef<at::Tensor()> input);

  /// The number of the next sample. For the admitting thread.
  [[nodiscard]] std::int64_t next_sample() const { return engine_->next_sample(); }

  /// Waits until a sample would be admitted at once. Before that, makes the change that
  /// SetOptimizer() asked for. Fails as Admit() does.
  [[nodiscard]] absl::Status AwaitRoom();

  /// Replaces the options of the optimizer but the learning rate, in the next AwaitRoom(), which
  /// finishes all admitted samples first. Equal options change nothing. Fails with INVALID_ARGUMENT
  /// as CheckOptimizer() does, and with FAILED_PRECONDITION if the new optimizer cannot continue
  /// from the old one's state. Thread-safe.
  absl::Status SetOptimizer(const OptimizerOptions& optimizer) ABSL_LOCKS_EXCLUDED(optimizer_mu_);

  /// Finishes all admitted samples, calls `while_idle`, and continues with the next sample. With
  /// other ranks, the leader has the state of all stages in `while_idle`, and passes it on.
  /// `while_idle` may call NetworkStore::Restore(), and may throw. Fails as Drain().
  absl::Status Pause(absl::FunctionRef<void(StagedNetwork&)> while_idle);

  /// Finishes all admitted samples, and continues with another plan and cuts. Discards later
  /// phases. On the leader of other ranks, `plan` is of the whole network, and these switch, too.
  /// Fails as PhasedEngine::Switch().
  absl::Status Switch(Plan plan, const Cuts& cuts);

  /// On another rank, for the leader's change: `plan` is this rank's part, and the rest as after
  /// the change. Fails as Switch().
  absl::Status Follow(Plan plan, const Cuts& cuts, const OptimizerOptions& optimizer);

  /// After other ranks are lost: gives up the samples under way, and uses the ranks' wires no more.
  /// All other calls fail until Resume(), but those of the network's state, such as
  /// NetworkStore::Restore().
  void Suspend();
  /// Continues with other ranks, to which it passes the network's state on, and the next sample.
  /// Fails if a rank is lost. REQUIRES: the run is suspended, and the ranks run the same phases
  /// from next_sample() on.
  absl::Status Resume(RankWires ranks);

  /// Runs every operation whose inputs exist, on all ranks, and brings the state of all stages into
  /// the leader's store. No sample can be admitted afterwards.
  absl::Status Drain();

  /// See PhasedEngine::history(). Thread-safe.
  [[nodiscard]] const RunHistory& history() const { return engine_->history(); }

  [[nodiscard]] const StagedNetwork& network() const { return network_; }
  [[nodiscard]] StagedNetwork& network() { return network_; }

 private:
  NetworkRun(StagedNetwork::Options network, Options& options)
      : on_switch_(std::move(options.on_switch)),
        on_optimizer_(std::move(options.on_optimizer)),
        tell_ranks_(std::move(options.tell_ranks)),
        optimizer_(network.optimizer),
        network_(std::move(network)) {}

  [[nodiscard]] absl::Status Begin(Options options, MakeDevices make_devices);
  template <typename Call>
  auto AbortUnlessOk(const Call& call);
  [[nodiscard]] absl::Status Announce(MessageKind kind);
  [[nodiscard]] absl::StatusOr<Plan> AnnounceSwitch(NetworkChange change);
  [[nodiscard]] absl::Status Gather(const Phase& phase);
  [[nodiscard]] absl::Status PauseHere(absl::FunctionRef<void(StagedNetwork&)> while_idle);
  [[nodiscard]] absl::Status SwitchHere(Plan plan, const Cuts& cuts);
  [[nodiscard]] absl::Status ChangeOptimizer(const OptimizerOptions& optimizer);
  void SwitchTo(const Phase& phase, const Cuts& cuts);
  [[nodiscard]] std::optional<OptimizerOptions> TakeOptimizerDue()
      ABSL_LOCKS_EXCLUDED(optimizer_mu_);

  const std::function<void()> on_switch_;
  const std::function<void()> on_optimizer_;
  const std::function<absl::StatusOr<Plan>(const NetworkChange&)> tell_ranks_;

  Mutex optimizer_mu_;
  OptimizerOptions optimizer_ ABSL_GUARDED_BY(optimizer_mu_);  // As last requested.
  bool is_optimizer_due_ ABSL_GUARDED_BY(optimizer_mu_) = false;

  // For the admitting thread.
  bool is_ended_ = false;
  bool ended_well_ = false;

  StagedNetwork network_;
  std::unique_ptr<PhasedEngine> engine_;  // Last: its workers use the network.
};

}  // namespace millrace::pipeline
