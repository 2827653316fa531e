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

namespace millrace::pipeline {

/// What an optimizer keeps from update to update.
struct OptimizerState {
  /// Of each parameter, in their order, what the kind of optimizer keeps of it. The tensors
  /// themselves, not copies.
  std::vector<std::vector<at::Tensor>> of_parameters = {};
  std::int64_t updates = 0;
  std::int64_t skipped = 0;
};

/// An optimizer of a fixed list of parameters, which it works on in place. Updates leave autograd's
/// version counters alone, so a graph that an older sample stored can still go backward: it then
/// meets the newest weights.
///
/// On a GPU a step is the GPU's own affair: nothing of it waits for the host, or makes it wait.
///
/// Not thread-safe, but for updates() and skipped(). Shares the parameters with their layers, which
/// may go first.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Applies the gradients and zeroes them. If any value of any of them, or of its parameter, is
  /// not finite, or 2^60 and more, changes nothing else, counts the update as skipped and returns
  /// false. A parameter that has no gradient stays as it is. On a GPU returns true: whether it
  /// updates is decided there.
  bool Step();

  /// The halves of Step() on a GPU. The first tells it the learning rate and counts the step. The
  /// second makes it; it can be captured, and then be done again after each PrepareOnDevice().
  /// REQUIRES: the parameters are on a GPU; to be captured: each has a gradient that is laid out as
  /// it is, as after one Step().
  void PrepareOnDevice();
  void StepOnDevice();

  /// From now on learning_rate() is so many times what the options and set_learning_rate() say.
  void set_rate_scale(double scale) { rate_scale_ = scale; }

  /// What another optimizer of the same kind, for the same parameters or some of them, needs to go
  /// on exactly where this one is.
  [[nodiscard]] OptimizerState state();
  /// REQUIRES: `state` is of as many parameters, and of the same kind of optimizer.
  void set_state(const OptimizerState& state);

  /// By how many updates gradients are late: what PipeMare's rule and spike compensation go by.
  void set_delay(int updates) { delay_ = updates; }

  void set_learning_rate(double learning_rate) { options_.learning_rate = learning_rate; }
  /// That of the next update.
  [[nodiscard]] double learning_rate() const;

  /// Steps that updated, and that did not. On a GPU skipped() is as of the last state(), which asks
  /// it, and updates() takes the steps since then for good ones; neither ever falls.
  [[nodiscard]] std::int64_t updates() const { return updates_; }
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

 protected:
  /// The parameters that have gradients.
  struct Batch {
    std::vector<at::Tensor> values;
    std::vector<at::Tensor> gradients;
    /// What is kept of them, in the order of Lists().
    std::vector<std::vector<at::Tensor>> states;
  };

  /// `parameters`: leaves that require gradients. REQUIRES: CheckOptimizer(options) is OK.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerOptions& options);

  [[nodiscard]] const OptimizerOptions& options() const { return options_; }
  [[nodiscard]] int delay() const { return delay_; }
  /// One tensor of zeros for each parameter.
  [[nodiscard]] std::vector<at::Tensor> Zeros() const;

 private:
  /// Changes the values in place. May overwrite the gradients. Autograd is off.
  virtual void Apply(const Batch& batch, double learning_rate) = 0;
  /// The same by operators that make nobody wait. Changes nothing where `step` is refused.
  virtual void ApplyOnDevice(const Batch& batch, const DeviceStep& step) = 0;

  /// What it keeps: lists of one tensor a parameter.
  [[nodiscard]] virtual std::vector<std::vector<at::Tensor>*> Lists() { return {}; }
  void Gather();

  OptimizerOptions options_;
  int delay_ = 0;
  double rate_scale_ = 1;
  std::vector<at::Tensor> parameters_;
  // The same memory as parameters_, but with version counters of their own.
  std::vector<at::Tensor> values_;
  // Of the update at hand. A member, so that an update allocates nothing.
  Batch batch_;
  std::vector<std::vector<at::Tensor>*> lists_;
  std::optional<DeviceStep> device_;  // Where the parameters are on a GPU.
  std::int64_t steps_on_device_ = 0;
  std::atomic<std::int64_t> updates_ = 0;
  std::atomic<std::int64_t> skipped_ = 0;
};

/// REQUIRES: CheckOptimizer(options) is OK; `parameters` are leaves that require gradients.
[[nodiscard]] std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options,
                                                       std::vector<at::Tensor> parameters);

}  // namespace millrace::pipeline
