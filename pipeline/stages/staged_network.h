// A network cut into stages, joined as a plan says: does the work of the plan's operations.
//
// The engine decides when; this decides what. Activations, gradients and skips lie in rings of
// exactly the plan's sizes, each place marked with its sample, and each gradient with whether it is
// real.
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
#include "pipeline/engine/stage_times.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/nn/stage.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/judge.h"
#include "pipeline/stages/stage_runner.h"
#include "pipeline/stages/stage_values.h"

namespace millrace::pipeline {

/// The stages that `cuts` makes of `chain`, first stage first. REQUIRES: CheckCuts() is OK.
[[nodiscard]] std::vector<Stage> CutIntoStages(const LayerChain& chain, const Cuts& cuts);

/// What a schedule must know of the stages: how many, and which skips pass a stage by.
[[nodiscard]] PipelineShape ShapeOf(const LayerChain& chain, const Cuts& cuts);

/// Runs the steps of one plan after the other. The steps of a plan may run on one thread a device,
/// as long as the plan's dependencies are kept; updates() is thread-safe.
class StagedNetwork {
 public:
  struct Options {
    /// Outlives the network.
    const LayerChain& chain;
    Cuts cuts = {};
    /// Where the stages compute, each or all of them: DevicesNamed().
    std::vector<at::Device> devices = {at::kCPU};
    Plan plan;
    /// The stream's number of the plan's sample 0.
    std::int64_t first_sample = 0;
    /// Makes the network's input of what is admitted, on the device where that has been brought
    /// for the stages that read it. Empty: it is the input.
    std::function<at::Tensor(const at::Tensor&)> read = {};
    /// Of the network's output.
    Judge judge;
    /// Of that of a stage before the last, where a plan gives such a stage its own loss.
    Judge local_judge = {};
    OptimizerOptions optimizer = {};
    /// Learning rates of stages 1 to D. Empty: that of `optimizer` for all.
    std::vector<double> learning_rates = {};
    /// What layers draw at random on the CPU depends on it, their number and the sample's, and on
    /// nothing else.
    std::uint64_t seed = 0;
    /// Whether stages on GPUs capture their operations, where that can be done (captured_stage.h).
    /// REQUIRES: the plan's devices run as MakeDeviceStreams() makes them.
    bool captures = false;
    /// Called after each update of a stage has been due, on the stage's thread, also where there
    /// was nothing to apply. The step's samples are numbered as the stream's. May be empty.
    std::function<void(const Step&)> on_update = {};
  };

  /// REQUIRES: the plan is for ShapeOf(chain, cuts).
  explicit StagedNetwork(Options options);

  StagedNetwork(const StagedNetwork&) = delete;
  StagedNetwork& operator=(const StagedNetwork&) = delete;

  /// Goes on with another plan, whose sample 0 is sample `first_sample` of the stream. Weights and
  /// the optimizers' state stay; gradients that no update has applied are forgotten.
  /// REQUIRES: the engine is drained; `plan` is for the same shape.
  void Switch(Plan plan, std::int64_t first_sample) {
    Switch(std::move(plan), first_sample, cuts_);
  }

  /// The same with other cuts: every layer keeps its weights and what its optimizer keeps of them,
  /// bit for bit. A stage has then made as many updates as that of its layers with the most. Layers
  /// move to the devices of their new stages.
  /// REQUIRES: the plan is for ShapeOf(chain, cuts); with other cuts, stages have no learning rates
  /// of their own; with another number of stages, no devices.
  void Switch(Plan plan, std::int64_t first_sample, const Cuts& cuts)
      ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// Puts a sample's input where the stages with a loss and the first one read it: what
  /// Engine::Admit() calls. On GPUs in the current streams of the thread that calls, for which
  /// MakeDeviceStreams() lets the stages' wait. Samples count from the plan's first. Throws as
  /// Run().
  void Admit(std::int64_t sample, const at::Tensor& input);

  /// Does one operation. A gradient that is not finite goes no further: the stages before get one
  /// that is marked as not real, and none of them learns from the sample. On a GPU it goes on to
  /// them, and their optimizers refuse it, together with the others that it was added to.
  /// Returns whether there was anything to do: false for a backward that got no real gradient, and
  /// for an update that had none to apply. Throws a StepError with the code of FailureOf()
  /// (device_failure.h).
  bool Run(const Step& step);

  /// A copy of what `stage` (from 1) has learned, layer by layer, in the CPU's memory. To be called
  /// on the thread that updates the stage, between its operations, as from `on_update`; or while
  /// nothing runs. REQUIRES: the stage's forwards run on the same thread.
  [[nodiscard]] std::vector<LayerState> Save(int stage) const ABSL_LOCKS_EXCLUDED(mu_);

  /// The same of all stages. REQUIRES: nothing runs.
  [[nodiscard]] std::vector<LayerState> Save() const ABSL_LOCKS_EXCLUDED(mu_);

  struct Values {
    /// Without what optimizers keep.
    std::vector<LayerState> layers;
    /// That those of the last stage have seen.
    std::int64_t updates = 0;
  };
  /// A copy of every layer's parameters and buffers as they are now, whatever runs: each stage's
  /// are the newest, and one stage may have learned from a sample more than another. A stage waits
  /// for the copy of itself at most. Thread-safe.
  [[nodiscard]] Values Newest() const ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// Puts what Save() returned in place, bit for bit, however the network was cut then. Counts of
  /// updates never go back. REQUIRES: Switch() was the last call and nothing runs; the layers are
  /// those of the chain.
  void Restore(const std::vector<LayerState>& layers) ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// Multiplies the learning rates of all stages, each from its next update on. Thread-safe.
  void ScaleLearningRates(double scale) { rate_scale_ = scale; }
  [[nodiscard]] double learning_rate_scale() const { return rate_scale_; }

  /// Gradients so far that were not finite, or updates refused (Optimizer::Step()): nothing was
  /// learned, in the stage where they came up and in those before it. On a GPU each stage that
  /// refused counts, as of the last Save(). Thread-safe.
  [[nodiscard]] std::int64_t gradients_not_finite() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Why operations of each stage on a GPU are launched kernel by kernel, first stage first. Empty:
  /// they are not, or only the first ones. For the thread that calls Switch().
  [[nodiscard]] std::vector<std::string> why_not_captured() const;

  /// Of now. To be called on a stage's thread, or while nothing runs.
  [[nodiscard]] int stage_count() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] const Cuts& cuts() const { return cuts_; }
  [[nodiscard]] const Plan& plan() const { return at_work_->plan; }

  /// Updates of each stage so far, first stage first.
  [[nodiscard]] std::vector<std::int64_t> updates() const ABSL_LOCKS_EXCLUDED(mu_);

  /// As Learner::worked(). Thread-safe.
  [[nodiscard]] std::vector<StageTime> worked() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] at::Device DeviceOf(std::size_t stage) const {
    return DeviceOfStage(devices_, static_cast<int>(stage) + 1);
  }
  [[nodiscard]] std::int64_t RefusedOnGpus() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What the thread that calls has put in place is not in the stages' streams.
  void AwaitDevices() const;
  void Cut(const Cuts& cuts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CutAgain(const Cuts& cuts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What every layer's optimizer keeps, and the way back: independent of the cuts.
  [[nodiscard]] std::vector<OptimizerState> OptimizerStates(std::size_t stage) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetOptimizerStates(std::span<const OptimizerState> of_layers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Begin(Plan plan, std::int64_t first_sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool RunUntimed(const Step& step);

  // Constant after construction.
  const LayerChain& chain_;
  const Judge judge_;
  const Judge local_judge_;
  const std::uint64_t seed_;
  const OptimizerOptions optimizer_;
  const std::vector<double> learning_rates_;
  const std::vector<at::Device> devices_;
  const bool captures_;
  const std::function<at::Tensor(const at::Tensor&)> read_;
  const std::function<void(const Step&)> on_update_;

  std::atomic<double> rate_scale_ = 1;
  std::atomic<std::int64_t> gradients_not_finite_ = 0;
  StageTimes times_;

  // Changed by Switch() alone, while nothing runs; what they point to is ordered by the plan.
  mutable Mutex cut_mu_ ABSL_ACQUIRED_BEFORE(mu_);  // Between that, Restore() and Newest().
  Cuts cuts_;
  std::vector<Stage> stages_;
  std::vector<std::unique_ptr<StageValues>> values_;  // Of each stage.
  mutable Mutex mu_;  // Between Switch() and updates(). After a stage's StageValues.
  std::vector<std::unique_ptr<Optimizer>> optimizers_ ABSL_GUARDED_BY(mu_);
  // Of what the optimizers count: came with a state, or more than once with other cuts.
  std::int64_t refused_elsewhere_ ABSL_GUARDED_BY(mu_) = 0;

  // Of one plan. Runners use what is above them.
  std::unique_ptr<PlanAtWork> at_work_;
  std::vector<std::unique_ptr<StageRunner>> runners_;
};

}  // namespace millrace::pipeline
