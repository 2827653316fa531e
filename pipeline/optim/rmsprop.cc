// RMSprop without momentum: the optimizer of a stage that learns from a camera. Momentum hurts on a
// stream: its frames are so alike that momentum keeps pushing in the direction of the last ones.
// Division by the size of recent gradients helps.
//
//   gradient = gradient + weight_decay value
//   square   = 0.99 square + 0.01 gradient^2
//   value    = value - learning_rate gradient / (sqrt(square) + eps)
//
// Update clipping (Shazeer and Stern, "Adafactor", ICML 2018, section 6) then divides the update u
// of each tensor by
//   max(1, RMS(u) / (clip_update learning_rate))
// RMS is the root mean square over the tensor. Without clipping, the first gradient, or one much
// larger than earlier gradients, moves the weights ten times as far as a usual one.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/stack.h>

#include "pipeline/ops/cpu/kernels.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/optim/steps_cuda.h"

namespace millrace::pipeline {
namespace {

constexpr double kDecay = 0.99;

// The inputs of one parameter's update.
struct Update {
  const at::Tensor& value;
  const at::Tensor& gradient;
  const at::Tensor& squares;
  double learning_rate;
  const OptimizerOptions& options;
};

// Whether both tensors, of the same shape, have the same layout. The stride of a dimension of size
// one does not matter.
bool LieAlike(const at::Tensor& a, const at::Tensor& b) {
  for (std::int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) return false;
  }
  return true;
}

// Whether the kernels can treat the whole tensor as one row of numbers.
bool FitsKernels(const Update& update) {
  const at::ScalarType type = update.value.scalar_type();
  return update.value.device().is_cpu() && (type == at::kFloat || type == at::kDouble) &&
         update.value.is_non_overlapping_and_dense() && LieAlike(update.gradient, update.value) &&
         LieAlike(update.squares, update.value);
}

template <typename T>
void ByKernel(const Update& update, void (*kernel)(const kernels::RmsPropStep<T>&)) {
  kernel({.values = update.value.mutable_data_ptr<T>(),
          .gradients = update.gradient.mutable_data_ptr<T>(),
          .squares = update.squares.mutable_data_ptr<T>(),
          .count = update.value.numel(),
          .decay = static_cast<T>(kDecay),
          .fresh = static_cast<T>(1 - kDecay),
          .rate = static_cast<T>(update.learning_rate),
          .eps = static_cast<T>(update.options.eps),
          .weight_decay = static_cast<T>(update.options.weight_decay),
          .clip = static_cast<T>(update.options.clip_update)});
}

// The largest norm of an update, in learning rates.
double LargestNorm(const at::Tensor& update, const OptimizerOptions& options) {
  return options.clip_update * std::sqrt(static_cast<double>(update.numel()));
}

// For any layout.
void ByOperators(const Update& update) {
  if (update.options.weight_decay > 0) {
    update.gradient.add_(update.value, update.options.weight_decay);
  }
  update.squares.mul_(kDecay).addcmul_(update.gradient, update.gradient, 1 - kDecay);
  update.gradient.div_(update.squares.sqrt().add_(update.options.eps));
  double rate = update.learning_rate;
  if (update.options.clip_update > 0) {
    const double norm = update.gradient.norm().item<double>();
    rate *= std::min(1.0, LargestNorm(update.gradient, update.options) / norm);
  }
  update.value.sub_(update.gradient, rate);
}

void ClipUpdates(const std::vector<at::Tensor>& updates, const OptimizerOptions& options) {
  const std::vector<at::Tensor> norms = at::_foreach_norm(updates, 2);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    updates[i].mul_((LargestNorm(updates[i], options) / norms[i]).clamp_max(1));
  }
}

void ApplyByKernels(const gpu::StepLists& lists, const DeviceStep& step,
                    const OptimizerOptions& options) {
  const bool clipped = options.clip_update > 0;
  gpu::LaunchSteps(lists, step, options.weight_decay, [&](const auto& tensors, std::size_t) {
    return gpu::RmsPropBody{.tensors = tensors,
                            .decay = static_cast<float>(kDecay),
                            .eps = static_cast<float>(options.eps),
                            .clipped = clipped};
  });
  if (!clipped) return;
  const at::Tensor norms = at::stack(at::_foreach_norm(lists.gradients, 2));
  gpu::LaunchSteps(lists, step, 0, [&](const auto& tensors, std::size_t first) {
    return gpu::ClippedStepBody{.tensors = tensors,
                                .norms = norms.const_data_ptr<float>() + first,
                                .clip = static_cast<float>(options.clip_update)};
  });
}

class RmsProp final : public Optimizer {
 public:
  RmsProp(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
      : Optimizer(std::move(parameters), options), squares_(Zeros()) {}

 private:
  void Apply(const Batch& batch, double learning_rate) override;
  void ApplyOnDevice(const Batch& batch, const DeviceStep& step) override;
  [[nodiscard]] std::vector<std::vector<at::Tensor>*> Lists() override { return {&squares_}; }

  std::vector<at::Tensor> squares_;
};

void RmsProp::ApplyOnDevice(const Batch& batch, const DeviceStep& step) {
  const std::vector<at::Tensor>& squares = batch.states[0];
  const gpu::StepLists lists{batch.values, batch.gradients, squares};
  if (gpu::HasSteps(lists)) return ApplyByKernels(lists, step, options());
  if (options().weight_decay > 0) {
    at::_foreach_add_(batch.gradients, batch.values, options().weight_decay);
  }
  step.ClearRefused(batch.gradients);
  at::_foreach_mul_(squares, step.Unless(kDecay, 1));
  at::_foreach_addcmul_(squares, batch.gradients, batch.gradients, 1 - kDecay);
  const std::vector<at::Tensor> roots = at::_foreach_sqrt(squares);
  at::_foreach_add_(roots, options().eps);
  at::_foreach_div_(batch.gradients, roots);
  if (options().clip_update > 0) ClipUpdates(batch.gradients, options());
  at::_foreach_mul_(batch.gradients, step.rate());
  at::_foreach_sub_(batch.values, batch.gradients);
}

void RmsProp::Apply(const Batch& batch, double learning_rate) {
  for (std::size_t i = 0; i < batch.values.size(); ++i) {
    const Update update{batch.values[i], batch.gradients[i], batch.states[0][i], learning_rate,
                        options()};
    if (!FitsKernels(update)) {
      ByOperators(update);
    } else if (update.value.scalar_type() == at::kDouble) {
      ByKernel(update, kernels::Best().rmsprop_double);
    } else {
      ByKernel(update, kernels::Best().rmsprop);
    }
  }
}

}  // namespace

std::unique_ptr<Optimizer> MakeRmsProp(std::vector<at::Tensor> parameters,
                                       const OptimizerOptions& options) {
  return std::make_unique<RmsProp>(std::move(parameters), options);
}

}  // namespace millrace::pipeline
