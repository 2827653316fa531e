// Checks that numbers are finite. A value that is not must never reach the weights, a checkpoint or
// a client.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Whether no value of `tensor` is NaN or infinite.
[[nodiscard]] bool AllFinite(const at::Tensor& tensor);

/// The same for all tensors.
[[nodiscard]] bool AllFinite(at::TensorList tensors);

/// The same as a scalar of bool on the tensors' device, without waiting for it. REQUIRES: `tensors`
/// is not empty.
[[nodiscard]] at::Tensor FiniteFlag(at::TensorList tensors);

/// Whether all values are finite and smaller than 2^exponent. `exponent`: at most 127.
[[nodiscard]] bool AllBelow(at::TensorList tensors, int exponent);

}  // namespace millrace::pipeline
