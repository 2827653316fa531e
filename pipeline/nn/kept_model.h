// A scope guard for trial runs of a model: the destructor restores its state.
#pragma once

#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"
#include "pipeline/nn/tensor_snapshot.h"

namespace millrace::pipeline {

/// Saves the parameters, gradients and buffers of a chain and the state of LibTorch's random
/// generator. The destructor restores them bit for bit. The chain has no gradients at first. Only
/// one thread may use the chain during this time. The chain must outlive this object.
class KeptModel {
 public:
  explicit KeptModel(const LayerChain& chain);
  ~KeptModel();

  KeptModel(const KeptModel&) = delete;
  KeptModel& operator=(const KeptModel&) = delete;

 private:
  std::vector<at::Tensor> tensors_;    // Parameters and buffers.
  std::vector<at::Tensor> gradients_;  // Of each; undefined for a buffer.
  TensorSnapshot values_;
  at::Generator generator_;
  at::Tensor generator_state_;
};

}  // namespace millrace::pipeline
