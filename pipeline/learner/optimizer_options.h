// Which optimizer a network learns by. Free of LibTorch.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// Which optimizer, and how far it goes. Defaults are those of online learning from a camera.
struct OptimizerOptions {
  enum class Kind { kRmsProp, kSgd, kAdam, kAdamW };
  Kind kind = Kind::kRmsProp;
  double learning_rate = 1e-4;
  /// kSgd.
  double momentum = 0;
  bool nesterov = false;
  /// Added to the gradient times the weights; kAdamW takes it from the weights instead.
  double weight_decay = 0;
  /// kAdam and kAdamW.
  double beta1 = 0.9;
  double beta2 = 0.999;
  /// All but kSgd.
  double eps = 1e-8;
  /// Gradients of a stage whose norm is larger are scaled down to it. 0: they are not.
  double clip_norm = 0;
  /// PipeMare's rule (Yang et al., "PipeMare: asynchronous pipeline parallel DNN training", T1): a
  /// stage whose gradients are tau updates late starts with the learning rate divided by tau, and
  /// reaches the whole of it after so many updates: lr / tau^(1 - min(k / steps, 1)). 0: off.
  std::int64_t pipemare_steps = 0;
  /// kSgd with momentum m, gradients D updates late (Kosson et al., "Pipelined backpropagation at
  /// scale"): v <- m v + g; w <- w - lr (a v + b g), a = m^D, b = (1 - m^D) / (1 - m). What the
  /// momentum of a gradient would have done meanwhile is done at once; its total weight is the
  /// same.
  bool spike_compensation = false;
};

/// The kind called "rmsprop", "sgd", "adam" or "adamw". Fails with INVALID_ARGUMENT naming them.
[[nodiscard]] absl::StatusOr<OptimizerOptions::Kind> OptimizerKind(std::string_view name);

/// INVALID_ARGUMENT, saying what is allowed, if a value is out of range or not for that kind.
[[nodiscard]] absl::Status CheckOptimizer(const OptimizerOptions& options);

}  // namespace millrace::pipeline
