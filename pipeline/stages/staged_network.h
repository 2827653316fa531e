// A network cut into stages and joined by a plan: runs the plan's operations.
//
// The engine decides when an operation runs; this class does its work. Activations, gradients and
// skips lie in rings of exactly the plan's sizes. Each place is marked with its sample, and each
// gradient with its validity.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "pipeline/engine/stage_time_counters.h"
#include "pipeline/nn/layer.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"
#include "pipeline/ranks/rank_work.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/admissions.h"
#include "pipeline/stages/loss.h"
#include "pipeline/stages/network_store.h"
#include "pipeline/stages/rank_states.h"
#include "pipeline/stages/running_plan.h"
#include "pipeline/stages/stage_port.h"
#include "pipeline/stages/stage_runner.h"

namespace millrace::pipeline {

/// The shape that a schedule needs: the number of stages, and the skips that cross a whole stage.
[[nodiscard]] PipelineShape ShapeOf(const LayerChain& chain, const Cuts& cuts);

/// Runs the steps of one plan at a time. The steps of a plan may run on one thread per device if
/// the plan's dependencies are kept; updates() is thread-safe.
class StagedNetwork {
 public:
  struct Options {
    /// Outlives the network.
    const LayerChain& chain;
    Cuts cuts = {};
    /// The device of each stage, or one for all: FindDevices().
    std::vector<at::Device> devices = {at::kCPU};
    Plan plan;
    /// The stream's number of the plan's sample 0.
    std::int64_t first_sample = 0;
    /// Makes the network's input from an admitted one, on each device of a stage that reads it.
    /// Empty: the input is used unchanged.
    std::function<at::Tensor(const at::Tensor&)> read = {};
    /// For the network's output. Null if the last stage is on another rank.
    std::unique_ptr<Loss> loss;
    /// For the output of a stage before the last, if the plan gives it its own loss.
    std::unique_ptr<Loss> local_loss = nullptr;
    OptimizerOptions optimizer = {};
    /// Factors on the learning rate of stages 1 to D. Empty: 1.
    std::vector<double> stage_rates = {};
    /// Together with the layer's number and the sample's, determines all random numbers of layers
    /// on the CPU.
    std::uint64_t seed = 0;
    /// Whether stages on GPUs capture their operations if possible (graphed_stage.h). REQUIRES:
    /// the plan's devices are those of MakeDeviceStreams().
    bool captures = false;
    /// If the plan is a part (plan_part.h): the other ranks. All stages are then on the CPU.
    std::optional<RankWires> ranks = {};
    /// Called on the stage's thread after each update of the plan, even if no gradient was applied.
    /// The step's samples have the stream's numbers. May be empty.
    std::function<void(const Step&)> on_update = {};
  };

  /// REQUIRES: the plan is for ShapeOf(chain, cuts).
  explicit StagedNetwork(Options options);

  StagedNetwork(const StagedNetwork&) = delete;
  StagedNetwork& operator=(const StagedNetwork&) = delete;

  /// Switches to another plan, whose sample 0 is sample `first_sample` of the stream. Keeps weights
  /// and optimizer states; discards gradients that no update has applied. REQUIRES: the engine is
  /// drained; `plan` is for the same shape.
  void Switch(Plan plan, std::int64_t first_sample) {
    Switch(std::move(plan), first_sample, cuts());
  }

  /// The same with other cuts, as NetworkStore::Cut(). REQUIRES: the plan is for ShapeOf(chain,
  /// cuts).
  void Switch(Plan plan, std::int64_t first_sample, const Cuts& cuts);

  /// Puts a sample's input into the rings of the first stage and of stages with a loss; for
  /// Engine::Admit(). On the leader, rank 0, also sends it to the other ranks. On GPUs it copies in
  /// the calling thread's current streams, and MakeDeviceStreams() makes the stages' streams wait
  /// for them. Samples count from the plan's first. Throws as Run().
  void Admit(std::int64_t sample, const at::Tensor& input);

  /// Ends all transfers to other ranks, and the waits for them. Without other ranks does nothing.
  /// Thread-safe, except with LeaveRanks() and JoinRanks().
  void AbortTransfers(const absl::Status& cause);

  /// Gives up the samples under way, and uses the other ranks' wires no more. Until JoinRanks(),
  /// only the store and figures may be used. REQUIRES: AbortTransfers() was called, or the wires
  /// have failed; no operation runs.
  void LeaveRanks();
  /// Continues with other ranks, which run the same stages, and as Switch(). REQUIRES: LeaveRanks()
  /// was the last call.
  void JoinRanks(RankWires ranks, Plan plan, std::int64_t first_sample);

  /// With other ranks: what all ranks do around a drain of their engines. Without them, these do
  /// nothing. They fail if a rank is lost. REQUIRES: no operation runs, except for Announce().
  ///
  /// On the leader, before its own drain: asks the others for a pause, a switch or the end before
  /// the stream's sample `next`.
  [[nodiscard]] absl::Status Announce(MessageKind kind, std::int64_t next);
  /// Brings the state of all stages into the leader's store.
  [[nodiscard]] absl::Status GatherState(MessageKind pause_or_end);
  /// Gives each rank the state of its stages from the leader's store. Also at the start.
  [[nodiscard]] absl::Status SpreadState();

  /// Runs one operation, or sends and receives for a stage on another rank. A gradient that is not
  /// finite stops here: the stages before get one that is marked as invalid, and no stage learns
  /// from the sample. On a GPU it goes on to them, and their optimizers refuse it, together with
  /// the gradients that it was added to. Returns false for a backward without a valid gradient, and
  /// for an update without one to apply. Throws a StepError with the code of FailureOf()
  /// (device_failure.h), and then ends all transfers.
  bool Run(const Step& step);

  /// The learned state, to copy it and to restore it. REQUIRES for Restore(): Switch()
  /// was the last call and no operation runs.
  [[nodiscard]] NetworkStore& store() { return store_; }
  [[nodiscard]] const NetworkStore& store() const { return store_; }

  /// As NetworkStore::SetOptimizer(). REQUIRES: Switch() was the last call and no operation runs.
  void SetOptimizer(const OptimizerOptions& optimizer);

  /// Multiplies the learning rates of all stages by `scale`, for the updates of samples that are
  /// admitted from now on. Thread-safe.
  void ScaleLearningRates(double scale) { rate_scale_ = scale; }
  [[nodiscard]] double learning_rate_scale() const { return rate_scale_; }

  /// The number of gradients that were not finite, or updates refused (Optimizer::Step()). Such a
  /// stage and the stages before it learned nothing. On a GPU every stage that refused counts, as
  /// of the last NetworkStore::Save() (OptimizerCounts). Thread-safe.
  [[nodiscard]] std::int64_t gradients_not_finite() const { return store_.gradients_not_finite(); }

  /// Per stage on a GPU, in order: why its operations run eagerly. Empty if they are captured, or
  /// will be. For the thread that calls Switch().
  [[nodiscard]] std::vector<std::string> why_not_captured() const;

  /// The current state. Call these on a stage's thread, or while no operation runs.
  [[nodiscard]] int stage_count() const { return store_.stage_count(); }
  [[nodiscard]] const Cuts& cuts() const { return store_.cuts(); }
  [[nodiscard]] const Plan& plan() const { return running_plan_->plan; }

  /// The number of updates of each stage so far, in order. Thread-safe.
  [[nodiscard]] std::vector<std::int64_t> updates() const { return store_.updates(); }

  /// See Learner::update_cosines(). REQUIRES: no operation runs.
  [[nodiscard]] std::vector<std::optional<double>> update_cosines() const {
    return store_.update_cosines();
  }

  /// Returns a function that counts the operations' times for worked(). The network outlives it.
  [[nodiscard]] ObserveOperation Observer();

  /// See Learner::worked(). Only observed operations of this rank count. Thread-safe.
  [[nodiscard]] std::vector<StageTime> worked() const;

  /// The same, and what this rank has sent to the others since it joined them. Thread-safe, except
  /// with LeaveRanks() and JoinRanks().
  [[nodiscard]] RankWork rank_work() const;

 private:
  void Begin(Plan plan, std::int64_t first_sample);
  void BeginStates();
  void EndPlan();
  bool RunHere(const Step& step);
  void Write(std::int64_t sample, const at::Tensor& input);
  template <typename Task>
  auto AbortIfItThrows(const Task& task);
  bool Update(StageRunner& runner, const Step& step);

  // Constant after construction.
  const std::unique_ptr<Loss> loss_;
  const std::unique_ptr<Loss> local_loss_;
  const std::uint64_t seed_;
  const bool captures_;
  const std::function<at::Tensor(const at::Tensor&)> read_;
  const std::function<void(const Step&)> on_update_;

  std::atomic<double> rate_scale_ = 1;
  StageTimeCounters times_;
  const bool on_cpu_;  // Only then operations are timed.
  NetworkStore store_;

  std::optional<RankWires> ranks_;
  std::unique_ptr<MessageRoutes> routes_;  // Null without other ranks. Plans share them.

  // For one plan. These use the members above. By stage: a runner, or a port if another rank runs
  // the stage; the other one is null.
  std::unique_ptr<RunningPlan> running_plan_;
  std::vector<std::unique_ptr<StageRunner>> runners_;
  std::vector<std::unique_ptr<StagePort>> ports_;
  std::unique_ptr<AdmissionSender> admissions_;  // Of the leader; null without other ranks.

  // With other ranks. One of these two is null.
  std::unique_ptr<RankStates> states_;  // Of the leader. Its threads use the store.
  std::unique_ptr<FollowerState> follows_;
};

}  // namespace millrace::pipeline
