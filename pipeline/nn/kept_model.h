// Lets a model be run for practice: all that running it may change is put back.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// Copies a chain's parameters, gradients and buffers and the state of LibTorch's random generator,
/// and puts them back, bit for bit, when it goes. In between there are no gradients. One thread
/// uses the chain meanwhile. The chain must outlive it.
class KeptModel {
 public:
  explicit KeptModel(const LayerChain& chain);
  ~KeptModel();

  KeptModel(const KeptModel&) = delete;
  KeptModel& operator=(const KeptModel&) = delete;

 private:
  struct Kept {
    at::Tensor tensor;
    at::Tensor value;
    at::Tensor gradient;
  };

  std::vector<Kept> tensors_;
  at::Generator generator_;
  at::Tensor generator_state_;
};

}  // namespace millrace::pipeline
