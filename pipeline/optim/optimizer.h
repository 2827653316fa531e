// Changes a stage's parameters by their gradients.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/learner/optimizer_options.h"
#include "pipeline/optim/device_step.h"
#include "pipeline/optim/update_cosine.h"

namespace millrace::pipeline {

/// The steps of an optimizer.
///
/// On the CPU the counts are final when Optimizer::Step() returns. On a GPU the host does not know
/// yet whether the GPU refused a step: the counts take it for an update. Optimizer::state() asks
/// the GPU. Its counts are final for all steps that the GPU had finished. From then on
/// Optimizer::counts() has final counts, too, but its `updates` never decreases. This number stays
/// until later steps make up for the refused ones.
struct OptimizerCounts {
  /// Steps that changed the parameters.
  std::int64_t updates = 0;
  /// Steps that were refused.
  std::int64_t skipped = 0;
};

/// The state that an optimizer keeps between updates.
struct OptimizerState {
  /// Per parameter, in order: the tensors that this kind of optimizer keeps. Not copies.
  std::vector<std::vector<at::Tensor>> of_parameters = {};
  OptimizerCounts counts = {};
};

/// An optimizer for a fixed list of parameters, which it changes in place. Updates leave autograd's
/// version counters alone. So the stored graph of an older sample can still go backward, with the
/// newest weights.
///
/// On a GPU a step runs without waiting for the host, and the host does not wait for it.
///
/// Not thread-safe, except counts(). Shares the parameters with their layers, which
/// may be destroyed first.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Applies the gradients and zeroes them. A parameter without a gradient stays unchanged. Refuses
  /// the step if a value of a gradient or of its parameter is not finite, or 2^60 or more. Then
  /// only zeroes the gradients, counts the update as skipped, and returns false. On a GPU always
  /// returns true: the GPU decides.
  bool Step();

  /// The halves of Step() on a GPU. The first sets the learning rate and counts the step. The
  /// second makes the step; a captured one can run again after each PrepareOnDevice(). REQUIRES:
  /// the parameters are on a GPU. For a capture, each has a gradient in its own layout, as after
  /// one Step().
  void PrepareOnDevice();
  void StepOnDevice();

  /// Multiplies learning_rate() by `scale` from now on.
  void set_rate_scale(double scale) { rate_scale_ = scale; }

  /// The state with which another optimizer of the same kind continues exactly. It may have the
  /// same parameters or some of them.
  [[nodiscard]] OptimizerState state();
  /// REQUIRES: `state` has the same number of parameters and comes from the same kind of optimizer.
  void set_state(const OptimizerState& state);

  /// The number of updates by which gradients are late, for PipeMare's rule and spike compensation.
  void set_delay(int updates) { delay_ = updates; }

  void set_learning_rate(double learning_rate) { options_.learning_rate = learning_rate; }
  /// For the next update.
  [[nodiscard]] double learning_rate() const;

  /// The counts so far. They never decrease; on a GPU they lag (OptimizerCounts).
  [[nodiscard]] OptimizerCounts counts() const {
    return {.updates = updates_, .skipped = skipped_};
  }

  /// The mean cosine between consecutive updates since construction. nullopt before the second
  /// update, on a GPU, and without OptimizerOptions::measures_cosine.
  [[nodiscard]] std::optional<double> update_cosine() const {
    return cosine_ ? cosine_->mean() : std::nullopt;
  }

 protected:
  /// The parameters that have gradients.
  struct Batch {
    std::vector<at::Tensor> values;
    std::vector<at::Tensor> gradients;
    /// The kept tensors, in the order of Lists().
    std::vector<std::vector<at::Tensor>> states;
  };

  /// `parameters`: leaves that require gradients. REQUIRES: CheckOptimizer(options) is OK.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerOptions& options);

  [[nodiscard]] const OptimizerOptions& options() const { return options_; }
  [[nodiscard]] int delay() const { return delay_; }
  /// One tensor of zeros for each parameter.
  [[nodiscard]] std::vector<at::Tensor> Zeros() const;
  /// One scalar for each parameter, float64 on its device.
  [[nodiscard]] std::vector<at::Tensor> Scalars(double value) const;

 private:
  /// Changes the values in place. May overwrite the gradients. Autograd is off.
  virtual void Apply(const Batch& batch, double learning_rate) = 0;
  /// The same by operators that do not wait. Changes nothing if `step` is refused. By default, by
  /// Apply() at a rate of 1, then scaled. For that, Apply() must not read tensors on the host, and
  /// its update must be proportional to the rate.
  virtual void ApplyOnDevice(const Batch& batch, const DeviceStep& step);

  /// Its state: lists with one tensor per parameter.
  [[nodiscard]] virtual std::vector<std::vector<at::Tensor>*> Lists() { return {}; }
  void Gather();

  OptimizerOptions options_;
  int delay_ = 0;
  double rate_scale_ = 1;
  std::vector<at::Tensor> parameters_;
  // The same memory as parameters_, with separate version counters.
  std::vector<at::Tensor> values_;
  // The current update's tensors. A member, so that an update allocates nothing.
  Batch batch_;
  std::vector<std::vector<at::Tensor>*> lists_;
  std::optional<DeviceStep> device_;  // Set if the parameters are on a GPU.
  std::optional<UpdateCosine> cosine_;
  std::int64_t steps_on_device_ = 0;
  std::atomic<std::int64_t> updates_ = 0;
  std::atomic<std::int64_t> skipped_ = 0;
};

/// REQUIRES: CheckOptimizer(options) is OK; `parameters` are leaves that require gradients.
[[nodiscard]] std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options,
                                                       std::vector<at::Tensor> parameters);

}  // namespace millrace::pipeline
