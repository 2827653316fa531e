#include "pipeline/nn/kept_model.h"

#include <mutex>

#include <ATen/Context.h>

namespace millrace::pipeline {

KeptModel::KeptModel(const LayerChain& chain)
    : generator_(at::globalContext().defaultGenerator(at::kCPU)) {
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) {
      tensors_.push_back(parameter);
      gradients_.push_back(parameter.grad());
      parameter.mutable_grad() = at::Tensor();
    }
    for (const at::Tensor& buffer : layer->buffers()) {
      tensors_.push_back(buffer);
      gradients_.emplace_back();
    }
  }
  values_.Take(tensors_);
  const std::lock_guard lock(generator_.mutex());
  generator_state_ = generator_.get_state();
}

KeptModel::~KeptModel() {
  values_.Restore(tensors_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].is_leaf()) tensors_[i].mutable_grad() = gradients_[i];
  }
  const std::lock_guard lock(generator_.mutex());
  generator_.set_state(generator_state_);
}

}  // namespace millrace::pipeline
