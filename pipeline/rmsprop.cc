#include "pipeline/rmsprop.h"

#include <utility>

#include "base/check.h"
#include "pipeline/kernels/kernels.h"

namespace millrace::pipeline {
namespace {

constexpr double kDecay = 0.99;

}  // namespace

RmsProp::RmsProp(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
    : Optimizer(std::move(parameters), options), squares_(Zeros()) {}

void RmsProp::Apply(const Batch& batch, double learning_rate) {
  for (std::size_t i = 0; i < batch.values.size(); ++i) {
    const at::Tensor& value = batch.values[i];
    MILLRACE_CHECK(value.device().is_cpu() && value.is_non_overlapping_and_dense());
    const auto step = [&]<typename T>(auto* kernel, T /*type*/) {
      kernel({.values = value.mutable_data_ptr<T>(),
              .gradients = batch.gradients[i].const_data_ptr<T>(),
              .squares = batch.states[0][i].mutable_data_ptr<T>(),
              .count = value.numel(),
              .decay = static_cast<T>(kDecay),
              .fresh = static_cast<T>(1 - kDecay),
              .rate = static_cast<T>(learning_rate),
              .eps = static_cast<T>(options().eps),
              .weight_decay = static_cast<T>(options().weight_decay)});
    };
    if (value.scalar_type() == at::kDouble) {
      step(kernels::Best().rmsprop_double, 0.0);
    } else {
      step(kernels::Best().rmsprop, 0.0F);
    }
  }
}

}  // namespace millrace::pipeline
