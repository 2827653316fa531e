// The options of a network's optimizer. Free of LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// An optimizer and its parameters. The defaults suit online learning from a camera.
struct OptimizerOptions {
  enum class Kind {
#define MILLRACE_OPTIMIZER(kind, name, state, tensors) k##kind,
#include "pipeline/learner/optimizer_list.h"
#undef MILLRACE_OPTIMIZER
  };
  Kind kind = Kind::kRmsProp;
  double learning_rate = 1e-4;
  /// For kSgd.
  double momentum = 0;
  bool nesterov = false;
  /// The weights, times this, are added to the gradient. kAdamW and kNAdamW subtract them from the
  /// weights instead, times the learning rate.
  double weight_decay = 0;
  /// For kAdam, kAdamW and kNAdamW.
  double beta1 = 0.9;
  double beta2 = 0.999;
  /// For all but kSgd.
  double eps = 1e-8;
  /// A stage's gradients with a larger norm are scaled down to it. 0: off.
  double clip_norm = 0;
  /// For kRmsProp. An update of a tensor whose root mean square is above this many learning rates
  /// is scaled down to it. 0: off, as in torch.optim.
  double clip_update = 1;
  /// PipeMare's rule (Yang et al., "PipeMare: asynchronous pipeline parallel DNN training", T1). A
  /// stage whose gradients are tau updates late starts with the learning rate divided by tau. It
  /// reaches the full rate after this number of updates: lr / tau^(1 - min(k / steps, 1)). 0: off.
  std::int64_t pipemare_steps = 0;
  /// For kSgd with momentum m and gradients D updates late (Kosson et al., "Pipelined
  /// backpropagation at scale"):
  ///   v <- m v + g,  w <- w - lr (a v + b g),  a = m^D,  b = (1 - m^D) / (1 - m)
  /// The update applies at once the momentum steps that a late gradient missed. Its total weight is
  /// the same.
  bool spike_compensation = false;
  /// Measures how far the updates of each stage agree in direction (UpdateCosine), on the CPU.
  bool measures_cosine = false;

  bool operator==(const OptimizerOptions&) const = default;
};

/// "rmsprop", "sgd" and others: the names of OptimizerOptions::Kind, in its order.
[[nodiscard]] const std::vector<std::string>& OptimizerNames();

/// The kind with one of OptimizerNames(). Fails with INVALID_ARGUMENT naming them.
[[nodiscard]] absl::StatusOr<OptimizerOptions::Kind> OptimizerKind(std::string_view name);

/// What the optimizer keeps of each weight, in words; equal for options that can continue from each
/// other's state.
[[nodiscard]] std::string OptimizerStateInWords(const OptimizerOptions& options);

/// The number of values that the optimizer keeps for each weight.
[[nodiscard]] int OptimizerStateTensors(const OptimizerOptions& options);

/// Fails with INVALID_ARGUMENT, saying what is allowed, if a value is out of range or wrong for the
/// kind.
[[nodiscard]] absl::Status CheckOptimizer(const OptimizerOptions& options);

}  // namespace millrace::pipeline
