#include "pipeline/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "base/check.h"
#include "pipeline/ops/finite.h"

namespace millrace::pipeline {
namespace {

// Below 2^60, with the options that CheckOptimizer() allows, no update makes a value that is not
// finite. With weight decay a gradient is below 2^61, and its square below 2^122. A step is at most
// the learning rate (2^20) times the gradient over eps (2^-40). With momentum, a step is at most
// the learning rate times the sum of gradients. That sum is at most 2^24 gradients, where adding no
// longer changes a float32. RMSprop's quotient, whose squares are summed to clip it, is at most 10.
// Adam's means are means of gradients, and stay below them after bias correction. AdamW's decay
// multiplies a weight by at most 2^20. NAdamW's step is at most twice a gradient over eps. Values
// are float32 or wider.
constexpr int kMaxExponent = 60;

// Fused kernels walk through memory in order, so gradients and states must have their parameter's
// layout and device. Tensors from a file may not have them, and neither may gradients.
at::Tensor LaidAs(const at::Tensor& value, const at::Tensor& given) {
  if (given.strides() == value.strides() && given.device() == value.device()) return given;
  return at::empty_like(value).copy_(given);
}

// As torch.nn.utils.clip_grad_norm_.
void ClipByNorm(const std::vector<at::Tensor>& gradients, double max_norm) {
  const at::Tensor norms = at::stack(at::_foreach_norm(gradients, 2));
  const double scale = max_norm / (norms.norm().item<double>() + 1e-6);
  if (scale < 1) at::_foreach_mul_(gradients, scale);
}

// The same without reading the norm on the host.
void ClipOnDevice(const std::vector<at::Tensor>& gradients, double max_norm) {
  const at::Tensor norm = at::stack(at::_foreach_norm(gradients, 2)).norm();
  at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max(1));
}

// A fill by an operator costs more in the call than most of these tensors need.
void Zero(const at::Tensor& tensor) {
  if (tensor.device().is_cpu() && tensor.is_non_overlapping_and_dense()) {
    std::memset(tensor.mutable_data_ptr(), 0, tensor.nbytes());
  } else {
    tensor.zero_();
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
    : options_(options), parameters_(std::move(parameters)) {
  MILLRACE_CHECK(CheckOptimizer(options).ok());
  for (const at::Tensor& parameter : parameters_) {
    MILLRACE_CHECK(parameter.is_leaf() && parameter.requires_grad());
    values_.push_back(parameter.variable_data());
  }
  if (!values_.empty() && !values_.front().device().is_cpu()) {
    device_.emplace(values_.front().device());
  } else if (options.measures_cosine) {
    cosine_.emplace(values_);
  }
}

std::vector<at::Tensor> Optimizer::Zeros() const {
  std::vector<at::Tensor> zeros;
  zeros.reserve(values_.size());
  for (const at::Tensor& value : values_) zeros.push_back(at::zeros_like(value));
  return zeros;
}

std::vector<at::Tensor> Optimizer::Scalars(double value) const {
  std::vector<at::Tensor> scalars;
  scalars.reserve(values_.size());
  for (const at::Tensor& parameter : values_) {
    scalars.push_back(at::full({}, value, parameter.options().dtype(at::kDouble)));
  }
  return scalars;
}

void Optimizer::Gather() {
  if (lists_.empty()) lists_ = Lists();
  batch_.values.clear();
  batch_.gradients.clear();
  batch_.states.resize(lists_.size());
  for (auto& state : batch_.states) state.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& gradient = parameters_[i].mutable_grad();
    if (!gradient.defined()) continue;
    gradient = LaidAs(values_[i], gradient);
    batch_.values.push_back(values_[i]);
    batch_.gradients.push_back(gradient);
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      batch_.states[k].push_back((*lists_[k])[i]);
    }
  }
}

OptimizerState Optimizer::state() {
  OptimizerState state{.of_parameters = std::vector<std::vector<at::Tensor>>(parameters_.size())};
  if (device_) skipped_ = device_->refusals();
  state.counts = counts();
  if (device_) state.counts.updates = steps_on_device_ - skipped_;
  for (const std::vector<at::Tensor>* list : Lists()) {
    for (std::size_t i = 0; i < list->size(); ++i) state.of_parameters[i].push_back((*list)[i]);
  }
  return state;
}

void Optimizer::set_state(const OptimizerState& state) {
  MILLRACE_CHECK(state.of_parameters.size() == parameters_.size());
  std::size_t kind = 0;
  for (std::vector<at::Tensor>* list : Lists()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      (*list)[i] = LaidAs((*list)[i], state.of_parameters[i].at(kind));
    }
    ++kind;
  }
  updates_ = state.counts.updates;
  skipped_ = state.counts.skipped;
  steps_on_device_ = updates_ + skipped_;
  if (device_) device_->set_refusals(skipped_);
}

double Optimizer::learning_rate() const {
  const double rate = options_.learning_rate * rate_scale_;
  if (options_.pipemare_steps == 0) return rate;
  const double done = static_cast<double>(updates_) / static_cast<double>(options_.pipemare_steps);
  return rate / std::pow(std::max(1, delay_), 1 - std::min(done, 1.0));
}

void Optimizer::PrepareOnDevice() {
  MILLRACE_CHECK(device_.has_value());
  device_->set_rate(learning_rate());
  ++steps_on_device_;
  updates_ = std::max<std::int64_t>(updates_, steps_on_device_ - skipped_);
}

void Optimizer::StepOnDevice() {
  MILLRACE_CHECK(device_.has_value());
  const at::NoGradGuard no_graph;
  Gather();
  if (batch_.gradients.empty()) return;
  device_->Check(batch_.gradients, batch_.values, kMaxExponent);
  if (options_.clip_norm > 0) ClipOnDevice(batch_.gradients, options_.clip_norm);
  ApplyOnDevice(batch_, *device_);
  at::_foreach_zero_(batch_.gradients);
}

void Optimizer::ApplyOnDevice(const Batch& batch, const DeviceStep& step) {
  const auto copies = [](const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> copied;
    for (const at::Tensor& tensor : tensors) copied.push_back(tensor.clone());
    return copied;
  };
  const std::vector<at::Tensor> values = copies(batch.values);
  std::vector<std::vector<at::Tensor>> states;
  for (const std::vector<at::Tensor>& state : batch.states) states.push_back(copies(state));
  Apply(batch, /*learning_rate=*/1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    batch.values[i].sub_(values[i]).mul_(step.rate()).add_(values[i]);
    step.UndoIfRefused(batch.values[i], values[i]);
  }
  for (std::size_t k = 0; k < states.size(); ++k) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      step.UndoIfRefused(batch.states[k][i], states[k][i]);
    }
  }
}

bool Optimizer::Step() {
  if (device_) {
    PrepareOnDevice();
    StepOnDevice();
    return true;
  }
  const at::NoGradGuard no_graph;
  Gather();
  const bool usable =
      AllBelow(batch_.gradients, kMaxExponent) && AllBelow(batch_.values, kMaxExponent);
  const bool any = !batch_.gradients.empty();
  if (usable && any) {
    if (options_.clip_norm > 0) ClipByNorm(batch_.gradients, options_.clip_norm);
    if (cosine_) cosine_->BeforeUpdate();
    Apply(batch_, learning_rate());
    if (cosine_) cosine_->AfterUpdate();
  }
  for (const at::Tensor& gradient : batch_.gradients) Zero(gradient);
  ++(usable ? updates_ : skipped_);
  return usable;
}

}  // namespace millrace::pipeline
