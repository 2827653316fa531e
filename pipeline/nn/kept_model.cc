#include "pipeline/nn/kept_model.h"

#include <mutex>

#include <ATen/Context.h>
#include <ATen/ops/clone.h>

namespace millrace::pipeline {

KeptModel::KeptModel(const LayerChain& chain)
    : generator_(at::globalContext().defaultGenerator(at::kCPU)) {
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) {
      tensors_.push_back({parameter, parameter.detach().clone(), parameter.grad()});
      parameter.mutable_grad() = at::Tensor();
    }
    for (const at::Tensor& buffer : layer->buffers()) {
      tensors_.push_back({buffer, buffer.detach().clone(), at::Tensor()});
    }
  }
  const std::lock_guard lock(generator_.mutex());
  generator_state_ = generator_.get_state();
}

KeptModel::~KeptModel() {
  for (const Kept& kept : tensors_) {
    // Through variable_data(): autograd refuses to write to a leaf.
    kept.tensor.variable_data().copy_(kept.value);
    if (kept.tensor.is_leaf()) kept.tensor.mutable_grad() = kept.gradient;
  }
  const std::lock_guard lock(generator_.mutex());
  generator_.set_state(generator_state_);
}

}  // namespace millrace::pipeline
