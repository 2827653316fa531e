// Whether numbers are numbers: what may never reach the weights, a checkpoint or a client.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Whether no value of `tensor` is NaN or infinite.
[[nodiscard]] bool AllFinite(const at::Tensor& tensor);

/// The same of every one of them.
[[nodiscard]] bool AllFinite(at::TensorList tensors);

/// The same as a scalar of bool on the tensors' device: nobody waits. REQUIRES: there is one.
[[nodiscard]] at::Tensor FiniteFlag(at::TensorList tensors);

/// Whether all are finite and smaller than 2^exponent. `exponent`: at most 127.
[[nodiscard]] bool AllBelow(at::TensorList tensors, int exponent);

}  // namespace millrace::pipeline
