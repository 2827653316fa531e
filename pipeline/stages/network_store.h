// The learned state of a network that is cut into stages: weights, buffers and optimizer states.
// Saves and restores it layer by layer, so that a saved state fits any cuts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/nn/stage.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/stages/stage_parameter_lock.h"

namespace millrace::pipeline {

/// The stages that `cuts` makes of `chain`, in order. REQUIRES: CheckCuts() is OK.
[[nodiscard]] std::vector<Stage> CutIntoStages(const LayerChain& chain, const Cuts& cuts);

/// The stages of one network, with an optimizer for each. The comment of each function names its
/// thread; without one it is for a stage's thread, or for any thread while no operation runs.
class NetworkStore {
 public:
  struct Options {
    /// Outlives the store.
    const LayerChain& chain;
    Cuts cuts = {};
    /// The device of each stage, or one for all.
    std::vector<at::Device> devices = {at::kCPU};
    OptimizerOptions optimizer = {};
    /// Factors on the learning rate of stages 1 to D. Empty: 1.
    std::vector<double> stage_rates = {};
  };

  explicit NetworkStore(Options options);

  NetworkStore(const NetworkStore&) = delete;
  NetworkStore& operator=(const NetworkStore&) = delete;

  /// Cuts the network again. Every layer keeps its weights and its optimizer state bit for bit. The
  /// update count of a stage becomes the maximum of its layers' counts. Layers move to the devices
  /// of their new stages. REQUIRES: no operation runs, and the stages have no learning rates of
  /// their own. Another number of stages requires one device for all.
  void Cut(const Cuts& cuts) ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// Replaces the options of all optimizers but the learning rate. Weights and optimizer states
  /// stay bit for bit. Update counts stay, except that those of a GPU become final
  /// (OptimizerCounts). A call that throws changes nothing. REQUIRES: no operation runs;
  /// OptimizerStateInWords() stays.
  void SetOptimizer(const OptimizerOptions& optimizer) ABSL_LOCKS_EXCLUDED(mu_);

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
  /// REQUIRES: no operation runs; `layers` has the chain's layers.
  void Restore(const std::vector<LayerState>& layers) ABSL_LOCKS_EXCLUDED(mu_, cut_mu_);

  /// The same for one stage that other ranks run, also while operations of other stages run.
  /// REQUIRES: `layers` has the stage's layers; only one thread restores this stage.
  void Restore(int stage, const std::vector<LayerState>& layers) ABSL_LOCKS_EXCLUDED(mu_);

  /// The number of updates of each stage so far, in order. Thread-safe.
  [[nodiscard]] std::vector<std::int64_t> updates() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Optimizer::update_cosine() of each stage, in order. REQUIRES: no operation runs.
  [[nodiscard]] std::vector<std::optional<double>> update_cosines() const ABSL_LOCKS_EXCLUDED(mu_);

  /// As StagedNetwork::gradients_not_finite(). The stages count theirs here; Save() adds what GPUs
  /// have refused (OptimizerCounts). Thread-safe.
  [[nodiscard]] std::atomic<std::int64_t>& gradients_not_finite() const {
    return gradients_not_finite_;
  }

  [[nodiscard]] int stage_count() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] const Cuts& cuts() const { return cuts_; }

  /// The parts of `stage` (from 1), until the next Cut() or SetOptimizer().
  [[nodiscard]] const Stage& stage(int stage) const { return stages_[stage - 1]; }
  [[nodiscard]] at::Device DeviceOf(int stage) const;
  [[nodiscard]] StageParameterLock& parameter_lock(int stage) const {
    return *parameter_locks_[stage - 1];
  }
  [[nodiscard]] Optimizer& optimizer(int stage) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Waits for the calling thread's own work, which is not in the stages' streams.
  void AwaitDevices() const;
  void MakeStages(const Cuts& cuts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  using Optimizers = std::vector<std::unique_ptr<Optimizer>>;  // One per stage.
  [[nodiscard]] Optimizers MakeOptimizers(const OptimizerOptions& options) const;
  // The optimizer state of every layer, independent of the cuts, and its inverse.
  [[nodiscard]] std::vector<OptimizerState> OptimizerStates(std::size_t stage) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] std::vector<OptimizerState> OptimizerStates() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetOptimizerStates(std::span<const OptimizerState> of_layers,
                          const Optimizers& optimizers) const;
  static void SetOptimizerState(std::span<const OptimizerState> of_layers, Optimizer& optimizer);

  // Constant after construction.
  const LayerChain& chain_;
  const std::vector<double> stage_rates_;
  const std::vector<at::Device> devices_;

  mutable std::atomic<std::int64_t> gradients_not_finite_ = 0;

  // Only Cut() and SetOptimizer() change these, while no operation runs. The plan orders accesses
  // to their contents.
  mutable Mutex cut_mu_ ABSL_ACQUIRED_BEFORE(mu_);  // Between Cut(), Restore() and Newest().
  Cuts cuts_;
  std::vector<Stage> stages_;
  std::vector<std::unique_ptr<StageParameterLock>> parameter_locks_;  // Per stage.
  mutable Mutex mu_;  // Between these changes and updates(). Locked after a StageParameterLock.
  OptimizerOptions optimizer_ ABSL_GUARDED_BY(mu_);
  Optimizers optimizers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
