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
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/engine/stage_time_counters.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/nn/stage.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/loss.h"
#include "pipeline/stages/stage_parameter_lock.h"
#include "pipeline/stages/stage_runner.h"

namespace millrace::pipeline {

/// The stages that `cuts` makes of `chain`, in order. REQUIRES: CheckCuts() is OK.
[[nodiscard]] std::vector<Stage> CutIntoStages(const LayerChain& chain, const Cuts& cuts);

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
    /// For the network's output.
    std::unique_ptr<Loss> loss;
    /// For the output of a stage before the last, if the plan gives it its own loss.
    std::unique_ptr<Loss> local_loss = nullptr;
    OptimizerOptions optimizer = {};
    /// Learning rates of stages 1 to D. Empty: the rate of `optimizer` for all stages.
    std::vector<double> learning_rates = {};
    /// Together with the layer's number and the sample's, determines all random numbers of layers
    /// on the CPU.
    std::uint64_t seed = 0;
    /// Whether stages on GPUs capture their operations if possible (graphed_stage.h). REQUIRES:
    /// the plan's devices are those of MakeDeviceStreams().
    bool captures = false;
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
    Switch(std::move(plan), first_sample, cuts_);
  }

  /// The same with other cuts. Every layer keeps its weights and its optimizer state bit for bit.
  /// The update count of a stage becomes the maximum of its layers' counts. Layers move to the
  /// devices of their new stages. REQUIRES: the plan is for ShapeOf(chain, cuts). Other cuts
  /// require that stages have no learning rates of their own; another number of stages requires one
  /// device for all.
  void Switch(Plan plan, std::int64_t first_sample, const Cuts& cuts)
      ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// Puts a sample's input into the rings of the first stage and of stages with a loss; for
  /// Engine::Admit(). On GPUs it copies in the calling thread's current streams, and
  /// MakeDeviceStreams() makes the stages' streams wait for them. Samples count from the plan's
  /// first. Throws as Run().
  void Admit(std::int64_t sample, const at::Tensor& input);

  /// Runs one operation. A gradient that is not finite stops here: the stages before get one that
  /// is marked as invalid, and no stage learns from the sample. On a GPU it goes on to them,
  /// and their optimizers refuse it, together with the gradients that it was added to. Returns
  /// false for a backward without a valid gradient, and for an update without one to apply. Throws
  /// a StepError with the code of FailureOf() (device_failure.h).
  bool Run(const Step& step);

  /// A copy of the learned state of `stage` (from 1), layer by layer, in the CPU's memory. Call it
  /// on the thread that updates the stage, between its operations, such as in `on_update`; or while
  /// no operation runs. REQUIRES: the stage's forwards run on the same thread.
  [[nodiscard]] std::vector<LayerState> Save(int stage) const ABSL_LOCKS_EXCLUDED(mu_);

  /// The same for all stages. REQUIRES: no operation runs.
  [[nodiscard]] std::vector<LayerState> Save() const ABSL_LOCKS_EXCLUDED(mu_);

  struct Values {
    /// Without optimizer states.
    std::vector<LayerState> layers;
    /// The update count of the last stage.
    std::int64_t updates = 0;
  };
  /// A copy of every layer's current parameters and buffers, also while operations run. Each
  /// stage's are its newest, so one stage may have learned from a sample more than another. A stage
  /// waits at most for the copy of its own layers. Thread-safe.
  [[nodiscard]] Values Newest() const ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// Restores a state from Save(), bit for bit, for any former cuts. Update counts never decrease.
  /// REQUIRES: Switch() was the last call and no operation runs; `layers` has the chain's layers.
  void Restore(const std::vector<LayerState>& layers) ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// Multiplies the learning rates of all stages by `scale`, from their next update on.
  /// Thread-safe.
  void ScaleLearningRates(double scale) { rate_scale_ = scale; }
  [[nodiscard]] double learning_rate_scale() const { return rate_scale_; }

  /// The number of gradients that were not finite, or updates refused (Optimizer::Step()). Such a
  /// stage and the stages before it learned nothing. On a GPU every stage that refused counts, as
  /// of the last Save(). Thread-safe.
  [[nodiscard]] std::int64_t gradients_not_finite() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Per stage on a GPU, in order: why its operations run eagerly. Empty if they are captured, or
  /// will be. For the thread that calls Switch().
  [[nodiscard]] std::vector<std::string> why_not_captured() const;

  /// The current state. Call these on a stage's thread, or while no operation runs.
  [[nodiscard]] int stage_count() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] const Cuts& cuts() const { return cuts_; }
  [[nodiscard]] const Plan& plan() const { return running_plan_->plan; }

  /// The number of updates of each stage so far, in order.
  [[nodiscard]] std::vector<std::int64_t> updates() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Returns a function that counts the operations' times for worked(). The network outlives it.
  [[nodiscard]] ObserveOperation Observer();

  /// See Learner::worked(). Only observed operations count. Thread-safe.
  [[nodiscard]] std::vector<StageTime> worked() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] at::Device DeviceOf(std::size_t stage) const {
    return DeviceOfStage(devices_, static_cast<int>(stage) + 1);
  }
  [[nodiscard]] std::int64_t RefusedOnGpus() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits for the calling thread's own work, which is not in the stages' streams.
  void AwaitDevices() const;
  void Cut(const Cuts& cuts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CutAgain(const Cuts& cuts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The optimizer state of every layer, independent of the cuts, and its inverse.
  [[nodiscard]] std::vector<OptimizerState> OptimizerStates(std::size_t stage) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetOptimizerStates(std::span<const OptimizerState> of_layers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Begin(Plan plan, std::int64_t first_sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const LayerChain& chain_;
  const std::unique_ptr<Loss> loss_;
  const std::unique_ptr<Loss> local_loss_;
  const std::uint64_t seed_;
  const OptimizerOptions optimizer_;
  const std::vector<double> learning_rates_;
  const std::vector<at::Device> devices_;
  const bool captures_;
  const std::function<at::Tensor(const at::Tensor&)> read_;
  const std::function<void(const Step&)> on_update_;

  std::atomic<double> rate_scale_ = 1;
  std::atomic<std::int64_t> gradients_not_finite_ = 0;
  StageTimeCounters times_;

  // Only Switch() changes these, while no operation runs. The plan orders accesses to their
  // contents.
  mutable Mutex cut_mu_ ABSL_ACQUIRED_BEFORE(mu_);  // Between Switch(), Restore() and Newest().
  Cuts cuts_;
  std::vector<Stage> stages_;
  std::vector<std::unique_ptr<StageParameterLock>> parameter_locks_;  // Per stage.
  mutable Mutex mu_;  // Between Switch() and updates(). Locked after a StageParameterLock.
  std::vector<std::unique_ptr<Optimizer>> optimizers_ ABSL_GUARDED_BY(mu_);
  // The part of the optimizers' counts that came with a restored state or twice by new cuts.
  std::int64_t refused_elsewhere_ ABSL_GUARDED_BY(mu_) = 0;

  // For one plan. Runners use the members above.
  std::unique_ptr<RunningPlan> running_plan_;
  std::vector<std::unique_ptr<StageRunner>> runners_;
};

}  // namespace millrace::pipeline
